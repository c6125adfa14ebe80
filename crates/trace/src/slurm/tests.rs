//! Records of jobs and steps, as they are printed.

use super::*;
use crate::Trace;

const HEADER: &str = "State|Timelimit|JobID|User|Submit|Start|End|AllocCPUS|ReqCPUS|JobName\n";
const DAY: &str = "2016-12-22T";

fn parsed(text: &str) -> Trace {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    read("jobs", text.as_bytes(), options).unwrap()
}

fn line(state: &str, limit: &str, id: &str, start: &str) -> String {
    format!("{state}|{limit}|{id}|ann|{DAY}07:00:00|{start}|{DAY}07:02:00|4|8|my|job\n")
}

#[test]
fn columns_follow_the_header() {
    let start = format!("{DAY}07:01:00");
    let text = HEADER.to_owned()
        + &line("COMPLETED", "1-00:00:00", "7", &start)
        + &line("CANCELLED by 12", "Partition_Limit", "8", "Unknown")
        + &line("TIMEOUT", "UNLIMITED", "9_4", &start);
    let trace = parsed(&text);
    let [ran, never, task] = trace.jobs[..] else {
        panic!("{trace:?}");
    };
    assert_eq!(ran.runtime, Span::from_secs(60));
    assert_eq!(ran.estimate, Span::from_secs(86_400));
    assert_eq!((ran.number, ran.procs), (7, 4));
    assert_eq!(never.runtime, NEVER_RAN);
    assert_eq!((task.number, task.estimate), (9, task.runtime));
    assert_eq!(trace.metadata.unwrap().executable.get(0), Some("my|job"));
    assert_eq!(
        trace.diagnostics.to_string(),
        "2 lines defaulted: the run time for lack of an estimate (lines 3, 4)\n\
             1 line defaulted: the array's number for lack of one of its own (line 4)\n\
             1 line defaulted: UTC for lack of a zone (line 2)"
    );
}

#[test]
fn unrequested_start_is_not_missing_from_the_run() {
    let runs = |header: &str, line: &str| {
        let text = format!("JobID|Submit|State|{header}\n7|{DAY}07:00:00|{line}\n");
        let read = read("jobs", text.as_bytes(), ReadOptions::default());
        read.map(|trace| trace.jobs[0].runtime)
    };
    let ran = Span::from_secs(53);
    assert_eq!(runs("Elapsed", "COMPLETED|00:00:53").unwrap(), ran);
    assert_eq!(runs("ElapsedRaw", "CANCELLED by 5|53").unwrap(), ran);
    assert_eq!(runs("Elapsed|Start", "COMPLETED|53|").unwrap(), ran);
    assert_eq!(runs("Elapsed", "FAILED|00:00:00").unwrap(), Span::ZERO);
    for (header, line) in [
        ("Elapsed", "CANCELLED by 5|00:00:00"),
        ("Elapsed|Start", "CANCELLED by 5|00:00:00|None"),
        ("Elapsed|Start", "FAILED|00:00:00|Unknown"),
    ] {
        assert_eq!(runs(header, line).unwrap(), NEVER_RAN, "{line}");
    }
    let error = runs("Partition", "COMPLETED|all").unwrap_err().to_string();
    assert!(error.contains("start time is missing"), "{error}");
}

#[test]
fn non_job_records_are_counted() {
    let start = format!("{DAY}07:01:00");
    let text = HEADER.to_owned()
        + &line("COMPLETED", "30:00", "7", &start)
        + &line("COMPLETED", "30:00", "7.batch", &start)
        + &line("RUNNING", "30:00", "8", &start)
        + &line("FOO", "30:00", "9", &start)
            .replace("07:02:00", "Unknown")
            .replace(&format!("{DAY}Unknown"), "Unknown")
        + &line("FAILED", "30:00", "x", &start)
        + &line("FAILED", "30:00", "11", "then")
        + HEADER
        + "FAILED|30:00|12\n";
    let trace = parsed(&text);
    assert_eq!(trace.jobs.len(), 1);
    for finding in [
        Finding::PartOfJob,
        Finding::NotEnded,
        Finding::UnknownState,
        Finding::NotANumber(RecordField::JobNumber),
        Finding::NotATime(RecordField::Start),
        Finding::RepeatedHeader,
        Finding::FieldCount,
    ] {
        assert_eq!(trace.diagnostics.count(finding), 1, "{finding}");
    }
}

#[test]
fn a_header_without_submit_times_gives_no_jobs() {
    let text = "JobID|JobName|State\n1|a|COMPLETED\n";
    let error = read("jobs", text.as_bytes(), ReadOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("submit time is missing"),
        "{error}"
    );
}
