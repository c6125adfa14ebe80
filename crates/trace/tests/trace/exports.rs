//! Tests of what commands, exporters and people do to records: other separators, cut words, headers in
//! capitals, and files that are easily taken for the accounting.

use tollgate_model::{Instant, Span};
use tollgate_trace::{
    ColumnSelection, FindingAction, OpenError, ReadOptions, Trace, TraceFormat, TraceStatus, read,
};

use crate::record_template::template;

fn outcome(text: &str) -> Result<Trace, OpenError> {
    let columns = ColumnSelection::All;
    read("jobs", text.as_bytes(), ReadOptions { columns })
}

fn parsed(text: &str) -> Trace {
    outcome(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const SACCT: &str = "JobID|User|State|Submit|Start|End|AllocCPUS|JobName\n\
    7|ann|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T11:01:00|4|a | b\n";

#[test]
fn delimiters_of_sacct_are_those_of_its_header() {
    let bars = parsed(SACCT);
    for delimiter in ["\t", ";", "^"] {
        let trace = parsed(&SACCT.replace('|', delimiter));
        assert_eq!(trace.format, Some(TraceFormat::Slurm), "{delimiter:?}");
        assert_eq!(trace.jobs, bars.jobs, "{delimiter:?}");
        let name = trace.metadata.as_ref().unwrap().executable.get(0);
        assert_eq!(name, Some(format!("a {delimiter} b").as_str()));
    }
}

#[test]
fn states_cut_at_their_width_are_known_unless_they_may_be_several() {
    for (state, status) in [
        ("OUT_OF_ME+", TraceStatus::OutOfMemory),
        ("CANCELLED+", TraceStatus::Cancelled),
        ("NODE_FA+", TraceStatus::NodeFailed),
        ("COMPLET+", TraceStatus::Unknown),
        ("OUT_OF_ME", TraceStatus::Unknown),
    ] {
        let trace = parsed(&SACCT.replace("COMPLETED", state));
        assert_eq!(trace.usage(0).status, status, "{state}");
    }
    assert!(outcome(&SACCT.replace("COMPLETED", "SUSPEND+")).is_err());
}

#[test]
fn files_that_are_taken_for_the_accounting_are_named() {
    let commas = SACCT.replace('|', ",");
    for (text, name, hint) in [
        (commas.as_str(), "`sacct` with commas", "sacct -P"),
        (
            "JobId=123 UserId=ann(1000) Name=a JobState=COMPLETED\n",
            "jobcomp",
            "sacct",
        ),
        (
            "JobId=123 JobName=a\n   UserId=ann(1000)\n",
            "scontrol",
            "sacct",
        ),
        (
            "   JOBID PARTITION     NAME     USER ST\n   7 cpu a ann R\n",
            "squeue",
            "accounting",
        ),
        (
            "job-ID  prior   name\n-----\n 7 0.5 a\n",
            "qstat",
            "accounting",
        ),
        (
            "Job id            Name   User\n------\n7.srv a ann\n",
            "qstat",
            "accounting",
        ),
        (
            "JOBID   USER    STAT  QUEUE\n7 ann RUN normal\n",
            "bjobs",
            "accounting",
        ),
        (
            " ID     OWNER   SUBMITTED\n 7.0 ann 3/1\n",
            "condor_history",
            "accounting",
        ),
        (
            "03/01/2024 08:00:00;0008;PBS_Server;Job;7.srv;queued\n",
            "server of PBS",
            "server_priv",
        ),
        (
            "\"JOB_FINISH2\" \"10.1\" 170 4 \"jobId\" \"9\" \"userId\" \"5\"\n",
            "lsb.stream",
            "lsb.acct",
        ),
        (
            "{\"jobs\": [{\"job_id\": 7, \"job_state\": [\"RUNNING\"], \"submit_time\": 100}]}\n",
            "JSON of `squeue`",
            "sacct --json",
        ),
    ] {
        let error = outcome(text).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error}");
    }
}

#[test]
fn names_of_schedds_between_ads_are_no_fault() {
    let condor = template(TraceFormat::CondorHistory);
    let text = condor.file(&[]);
    let banner = "-- Schedd: s1 : <10.0.0.1:9618>\n";
    let trace = parsed(&format!("{banner}{text}\n\n{banner}{text}"));
    assert_eq!(trace.jobs.len(), 4);
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
}

#[test]
fn unlimited_requests_of_grid_engine_are_unknown() {
    let grid_engine = template(TraceFormat::GridEngine);
    let trace = grid_engine.read(&[("limit", "INFINITY"), ("requested memory", "infinity")]);
    assert!(!trace.has_estimate(1));
    assert_eq!(trace.usage(1).requested_memory, None);
    assert_eq!(trace.diagnostics.total(FindingAction::Defaulted), 1);
}

#[test]
fn damaged_slots_of_grid_engine_do_not_move_the_name() {
    let trace = template(TraceFormat::GridEngine).read(&[("slots", "A")]);
    let names = trace.metadata.as_ref().unwrap();
    assert_eq!((trace.jobs[1].number, trace.jobs[1].procs), (2, 1));
    assert_eq!(names.executable.get(1), Some("a"));
}

#[test]
fn virtual_nodes_of_pbs_have_the_processors() {
    let trace = parsed(
        "03/01/2024 08:00:00;E;7.srv;user=ann ctime=1700000000 start=1700000005 end=1700000045 \
         exec_vnode=(n1:ncpus=4:mem=4gb)+(n2:ncpus=2)\n",
    );
    assert_eq!(trace.jobs[0].procs, 6);
}

#[test]
fn sizes_of_machines_may_have_thousands_in_the_header_of_swf() {
    let record = "1 0 5 40 4 -1 -1 4 900 -1 1 7 2 11 3 -1 -1 -1\n";
    let trace = parsed(&format!(";MaxProcs:1,152\n; MaxNodes: 48\n{record}"));
    assert_eq!((trace.max_procs, trace.max_nodes), (Some(1152), Some(48)));
}

#[test]
fn one_odd_value_of_json_loses_no_other() {
    let json = template(TraceFormat::SlurmJson);
    let trace = json.read(&[
        ("cpu", "\"?\""),
        ("elapsed", "1e99"),
        ("steps", "[7, {\"time\": 8}]"),
    ]);
    let job = trace.jobs[1];
    assert_eq!(
        (job.submit, job.runtime),
        (Instant::from_secs(100), Span::from_secs(40))
    );
    assert_eq!(trace.usage(1).wait, Some(Span::from_secs(5)));
}

#[test]
fn exports_of_statistics_programs_are_tables() {
    for header in [
        "\"\",\"job_id\",\"submit_s\",\"runtime_s\",\"procs\"",
        ",JOB_ID,Submit_S,RUNTIME_S,Procs",
        "index;Job_Id;submit_s;runtime_s;PROCS",
    ] {
        let separator = if header.contains(';') { ";" } else { "," };
        let row = ["0", "3", "5.0", "60.0", "2.0"].join(separator);
        let trace = parsed(&format!("{header}\n{row}\n"));
        assert_eq!(
            (trace.jobs[0].number, trace.jobs[0].procs),
            (3, 2),
            "{header}"
        );
    }
}
