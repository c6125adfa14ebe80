//! Tests that both formats give the same jobs, for any compression and columns.

use proptest::prelude::*;
use tollgate_model::{Credits, CreditsPerSecond, Instant, Span};
use tollgate_trace::passthrough_columns::PassthroughColumns;
use tollgate_trace::{
    ColumnSelection, ReadOptions, Trace, TraceJob, TraceMetadata, TraceSla, job_table, read,
};

const ALL: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

fn parsed(text: &str) -> Trace {
    read("jobs", text.as_bytes(), ALL).unwrap()
}

fn job(number: u64, submit: i64, runtime: i64, estimate: i64, procs: u32) -> TraceJob {
    TraceJob {
        number,
        submit: Instant::from_micros(submit),
        runtime: Span::from_micros(runtime),
        estimate: Span::from_micros(estimate),
        is_estimated: estimate != runtime,
        procs,
    }
}

#[test]
fn swf_accepts_deviations_of_real_files() {
    let trace = parsed(
        ";\tVersion: 2.2\n; UnixStartTime: 893466664\n;   MaxNodes: 400 (48 interactive)\n\
         ; Note: MaxProcs: not a directive\n;MaxProcs:128\n\n\
         \t 1   0  5 40.25 489.00 3436.5 -1 4 900 -1 1 7 2 11 3 -1 -1 -1 {12,12,12} q_1d 1:ppn=4\r\n\
         2 10 -1 60 8",
    );
    assert_eq!(
        trace.jobs,
        [
            job(1, 0, 40_250_000, 900_000_000, 489),
            job(2, 10_000_000, 60_000_000, 60_000_000, 8),
        ]
    );
    assert_eq!((trace.max_procs, trace.max_nodes), (Some(128), Some(400)));
    assert_eq!(trace.unix_start, Some(Instant::from_secs(893_466_664)));
    let metadata = trace.metadata.unwrap();
    assert_eq!(metadata.user.get(0), Some("7"));
    assert_eq!(metadata.executable.get(0), Some("11"));
    assert_eq!(metadata.queue.get(0), Some("3"));
    assert_eq!(metadata.queue.get(1), None);
}

#[test]
fn a_table_needs_only_four_columns_in_any_order() {
    let trace = parsed(
        "\u{feff}procs , site,runtime_s,submit_s,job_id\r\n4,\"north, hall 2\",1.5,0.000001,17\r\n",
    );
    assert_eq!(trace.jobs, [job(17, 1, 1_500_000, 1_500_000, 4)]);
    assert_eq!(trace.slas, None);
    let extra = trace.extra.unwrap();
    assert_eq!(extra.names(), ["site"]);
    assert_eq!(extra.row(0).collect::<Vec<_>>(), ["north, hall 2"]);
}

#[test]
fn unrequested_columns_are_not_kept() {
    let text = "job_id,submit_s,runtime_s,procs,user\n1,0,10,4,ann\n";
    let core = read("jobs", text.as_bytes(), ReadOptions::default()).unwrap();
    assert_eq!(core.metadata, None);
    assert_eq!(parsed(text).metadata.unwrap().user.get(0), Some("ann"));
}

#[test]
fn written_table_matches_the_specification() {
    let text = "job_id,submit_s,runtime_s,procs,estimate_s,user,group,executable,queue,deadline_s,\
                budget,penalty_per_s,site\n\
                1,0,10.5,4,20,ann,,a.out,,60,5.25,0.1,north\n\
                2,5,-1,1,30,,staff,,long,,,,\"so, th\"\n";
    let mut written = Vec::new();
    job_table::write(&parsed(text), &mut written).unwrap();
    assert_eq!(std::str::from_utf8(&written).unwrap(), text);
}

fn any_job() -> impl Strategy<Value = TraceJob> {
    (
        any::<u64>(),
        0..1_000_000_000_000_000i64,
        prop_oneof![Just(-1_000_000), 0..1_000_000_000_000i64],
        1..1_000_000_000_000i64,
        1..=10_000_000u32,
    )
        .prop_map(|(number, submit, runtime, estimate, procs)| {
            job(number, submit, runtime, estimate, procs)
        })
}

fn any_sla() -> impl Strategy<Value = TraceSla> {
    (
        proptest::option::of(1..1_000_000_000_000i64),
        proptest::option::of(0..1_000_000_000_000i64),
        proptest::option::of(0..1_000_000_000_000i64),
    )
        .prop_map(|(deadline, budget, penalty)| TraceSla {
            deadline: deadline.map(Span::from_micros),
            budget: budget.map(Credits::from_micros),
            penalty: penalty.map(|micros| CreditsPerSecond::from_f64(micros as f64 / 1e6)),
        })
}

/// Generates jobs as a table would hold them, with the text of every optional column.
fn any_table() -> impl Strategy<Value = String> {
    let name = "[a-z\u{e4}]{0,3}";
    proptest::collection::vec((any_job(), any_sla(), name, "[ -~]{0,9}"), 1..20).prop_map(|rows| {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record([
            "note",
            "job_id",
            "submit_s",
            "runtime_s",
            "procs",
            "estimate_s",
            "user",
            "deadline_s",
            "budget",
            "penalty_per_s",
        ])
        .unwrap();
        for (job, sla, user, note) in rows {
            let part = |value: Option<String>| value.unwrap_or_default();
            csv.write_record([
                note,
                job.number.to_string(),
                job.submit.to_string(),
                job.runtime.to_string(),
                job.procs.to_string(),
                job.estimate.to_string(),
                user,
                part(sla.deadline.map(|deadline| deadline.to_string())),
                part(sla.budget.map(|budget| budget.to_string())),
                part(sla.penalty.map(|penalty| penalty.to_string())),
            ])
            .unwrap();
        }
        String::from_utf8(csv.into_inner().unwrap()).unwrap()
    })
}

proptest! {
    #[test]
    fn written_table_round_trips(text in any_table()) {
        let trace = parsed(&text);
        let mut written = Vec::new();
        job_table::write(&trace, &mut written).unwrap();
        let mut again = read("jobs", written.as_slice(), ALL).unwrap();
        prop_assert_eq!(again.jobs.len() + 1, csv::Reader::from_reader(text.as_bytes()).records().count() + 1);
        // Jobs out of order in one are out of order in the other; defaulted values have become
        // explicit.
        again.diagnostics = trace.diagnostics.clone();
        prop_assert_eq!(again, trace);
    }

    #[test]
    fn swf_and_table_agree(jobs in proptest::collection::vec(any_job(), 1..20)) {
        let mut swf = String::new();
        for job in &jobs {
            swf += &format!(
                "{} {} -1 {} {} -1 -1 -1 {}\n",
                job.number, job.submit, job.runtime, job.procs, job.estimate
            );
        }
        let trace = read("jobs", swf.as_bytes(), ReadOptions::default()).unwrap();
        let mut written = Vec::new();
        job_table::write(&trace, &mut written).unwrap();
        let table = read("jobs", written.as_slice(), ReadOptions::default()).unwrap();
        prop_assert_eq!(&trace.jobs, &jobs);
        prop_assert_eq!(table.jobs, jobs);
    }

    #[test]
    fn the_last_jobs_are_those_of_the_end_of_the_file(text in any_table(), n in 0usize..25) {
        let whole = parsed(&text);
        let cut = whole.clone().last(n);
        let before = whole.jobs.len() - cut.jobs.len();
        prop_assert_eq!(cut.jobs.len(), n.min(whole.jobs.len()));
        prop_assert_eq!(&cut.jobs[..], &whole.jobs[before..]);
        let (cut_extra, extra) = (cut.extra.unwrap(), whole.extra.unwrap());
        let (cut_names, names) = (cut.metadata.unwrap(), whole.metadata.unwrap());
        for row in 0..cut.jobs.len() {
            prop_assert!(cut_extra.row(row).eq(extra.row(row + before)));
            prop_assert_eq!(cut_names.user.get(row), names.user.get(row + before));
        }
    }
}

#[test]
fn a_trace_made_by_hand_can_be_written() {
    let mut trace = Trace::empty("by hand");
    trace.jobs.push(job(1, 0, 1, 2, 1));
    trace.extra = Some(PassthroughColumns::new(Vec::new()));
    trace.metadata = Some(TraceMetadata::default());
    let mut written = Vec::new();
    job_table::write(&trace, &mut written).unwrap();
    assert!(
        std::str::from_utf8(&written)
            .unwrap()
            .ends_with("1,0,0.000001,1,0.000002,,,,\n")
    );
}
