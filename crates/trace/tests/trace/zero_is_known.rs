//! Properties of 0: a run of 0 s is a run, and only a job without a start never ran.

use proptest::prelude::*;
use tollgate_model::Span;
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, TraceSummary, read};

/// The instant of submission, since 1970.
const SUBMIT_S: i64 = 1_700_000_000;

/// Returns the record of a job that waited, and ran or never ran for 0 s, with the header of its format.
type ZeroRecord = fn(Option<i64>) -> String;

fn clock(at: Option<i64>) -> String {
    at.map_or("Unknown".to_owned(), |at| at.to_string())
}

fn slurm(start: Option<i64>) -> String {
    let (start, cpus) = (clock(start), if start.is_some() { 4 } else { 0 });
    let end = SUBMIT_S + 9999;
    let (end, state) = match cpus {
        0 => (end.to_string(), "CANCELLED by 7"),
        _ => (start.clone(), "FAILED"),
    };
    format!(
        "JobID|State|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS|NodeList\n\
         7|{state}|{SUBMIT_S}|{start}|{end}|00:00:00|{cpus}|4|n1\n"
    )
}

/// The start of a job that was cancelled while pending is its end in older versions.
fn old_slurm(start: Option<i64>) -> String {
    match start {
        Some(_) => slurm(start),
        None => format!(
            "JobID|State|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS|NodeList\n\
             7|CANCELLED by 7|{SUBMIT_S}|{0}|{0}|00:00:00|0|4|None assigned\n",
            SUBMIT_S + 60
        ),
    }
}

/// An export without the end, where only the column of the run time tells it.
fn slurm_without_end(start: Option<i64>) -> String {
    let (state, cpus) = start.map_or(("CANCELLED by 7", 0), |_| ("FAILED", 4));
    let start = clock(start);
    format!(
        "JobID|State|Submit|Start|Elapsed|AllocCPUS|ReqCPUS|NodeList\n\
         7|{state}|{SUBMIT_S}|{start}|00:00:00|{cpus}|4|n1\n"
    )
}

fn slurm_json(start: Option<i64>) -> String {
    let state = if start.is_some() {
        "FAILED"
    } else {
        "CANCELLED"
    };
    let start = start.unwrap_or(0);
    format!(
        "{{\"jobs\": [{{\"job_id\": 7, \"state\": {{\"current\": [\"{state}\"]}}, \"required\": {{\"CPUs\": 4}}, \
         \"time\": {{\"submission\": {SUBMIT_S}, \"start\": {start}, \"end\": {start}, \"elapsed\": 0}}}}]}}"
    )
}

/// The start of a job that was cancelled while pending is its end in older versions.
fn old_slurm_json(start: Option<i64>) -> String {
    match start {
        Some(_) => slurm_json(start),
        None => slurm_json(Some(SUBMIT_S + 60))
            .replace("FAILED", "CANCELLED")
            .replace("\"required\"", "\"nodes\": \"None assigned\", \"required\""),
    }
}

fn pbs(start: Option<i64>) -> String {
    let start = start.unwrap_or(0);
    format!(
        "03/01/2024 08:00:00;E;7.srv;user=ann ctime={SUBMIT_S} start={start} end={start} \
         exec_host=n1/0*4 Exit_status=1\n"
    )
}

fn grid_engine(start: Option<i64>) -> String {
    let start = start.unwrap_or(0);
    format!(
        "all.q:h1:users:ann:a:7:sge:0:{SUBMIT_S}:{start}:{start}:0:1:0:{}NONE:dept:mpi:4:0:0:0:0:NONE:0.0:\
         NONE:0:0:0\n",
        "0:".repeat(17)
    )
}

fn lsf(start: Option<i64>) -> String {
    let (start, end) = (start.unwrap_or(0), start.unwrap_or(SUBMIT_S + 9));
    format!(
        "\"JOB_FINISH\" \"10.108\" {end} 7 1501 33554434 4 {SUBMIT_S} 0 0 {start} \"ann\" \"normal\" \"\" \"\" \
         \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.101\" 0 0 32 2.0 \"j\" \"run\" 0 0 10 0 -1 0 0 1 1 0 1 1 -1 \
         0 0 0 1 1 -1 \"\" \"proj\" 0 4\n"
    )
}

fn swf(start: Option<i64>) -> String {
    let wait = start.map_or(-1, |start| start - SUBMIT_S);
    let (run, status) = start.map_or((-1, 5), |_| (0, 0));
    format!("; Version: 2.2\n7 {SUBMIT_S} {wait} {run} 4 -1 -1 4 -1 -1 {status} 1 1 1 1 -1 -1 -1\n")
}

fn gwf(start: Option<i64>) -> String {
    let swf = swf(start);
    let (_, record) = swf.trim_end().split_once('\n').expect("a header");
    let record = record.strip_suffix(" -1 -1 -1").expect("the last fields");
    format!("# Version: 1.0\n{record} -1 -1 -1 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 -1 P9\n")
}

fn condor_ad(start: Option<i64>) -> String {
    let (status, end) = start.map_or((3, SUBMIT_S + 9), |start| (4, start));
    let start =
        start.map(|start| format!("JobStartDate = {start}\nJobCurrentStartDate = {start}\n"));
    format!(
        "ClusterId = 7\nQDate = {SUBMIT_S}\nJobStatus = {status}\nCompletionDate = {end}\n{}\
         CommittedTime = 0\nRemoteWallClockTime = 0.0\nRequestCpus = 4\nExitCode = 1\n",
        start.unwrap_or_default()
    )
}

/// An ad that lacks the end.
fn condor_ad_without_end(start: Option<i64>) -> String {
    let ad = condor_ad(start);
    let lines = ad
        .lines()
        .filter(|line| !line.starts_with("CompletionDate"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn condor_events(start: Option<i64>) -> String {
    let event = |number: &str, at: i64, text: &str| {
        let at = jiff::Timestamp::from_second(at).expect("an instant");
        format!("{number} (7.000.000) {at} {text}\n...\n")
    };
    let submitted = event("000", SUBMIT_S, "Job submitted from host: <10.0.0.1:9618>");
    let end = match start {
        Some(start) => [
            event("001", start, "Job executing on host: <10.0.0.2:9618>"),
            event(
                "005",
                start,
                "Job terminated.\n\t(1) Normal termination (return value 1)",
            ),
        ]
        .concat(),
        None => event("009", SUBMIT_S + 9, "Job was aborted."),
    };
    submitted + &end
}

const RECORDS: [ZeroRecord; 13] = [
    slurm,
    old_slurm,
    slurm_without_end,
    slurm_json,
    old_slurm_json,
    pbs,
    grid_engine,
    lsf,
    swf,
    gwf,
    condor_ad,
    condor_ad_without_end,
    condor_events,
];

fn parsed(text: &str) -> Trace {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    read("jobs", text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #[test]
    fn job_with_a_start_ran_for_0_s_and_one_without_never_did(
        record in prop::sample::select(RECORDS.to_vec()),
        wait in 0i64..100_000,
    ) {
        let ran = parsed(&record(Some(SUBMIT_S + wait)));
        prop_assert_eq!(ran.jobs[0].runtime, Span::ZERO);
        prop_assert_eq!(ran.usage(0).wait, Some(Span::from_secs(wait)));
        prop_assert_eq!(TraceSummary::of(&ran).never_ran, 0);
        let never = parsed(&record(None));
        prop_assert_eq!(never.jobs[0].runtime, Span::from_secs(-1));
        prop_assert_eq!((never.usage(0).wait, TraceSummary::of(&never).never_ran), (None, 1));
    }
}
