//! Tests that a directory is read as one trace of all its files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_model::{Instant, Span};
use tollgate_trace::{
    ColumnSelection, Finding, ReadOptions, TraceAttemptEnd, TraceFormat, open, read,
};

const ALL: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// A directory of one test.
struct TraceDir(PathBuf);

impl TraceDir {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = Path::new(concat!(
            env!("CARGO_TARGET_TMPDIR"),
            "/",
            env!("CARGO_PKG_NAME")
        ))
        .join(name);
        fs::create_dir_all(path.join("below")).unwrap();
        for (name, text) in files {
            let bytes = if name.ends_with(".gz") {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(text.as_bytes()).unwrap();
                encoder.finish().unwrap()
            } else {
                text.as_bytes().to_vec()
            };
            fs::write(path.join(name), bytes).unwrap();
        }
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

#[test]
fn directory_jobs_are_in_submission_order_with_all_columns() {
    let folder = TraceDir::new(
        "order",
        &[
            (
                "b",
                "job_id,submit_s,runtime_s,procs,estimate_s,user,status,site\n1,5,1,1,2,ann,completed,x\n2,x,1,1,2,,,\n",
            ),
            (
                "a.gz",
                "job_id,submit_s,runtime_s,procs,estimate_s,user,budget,note\n3,7,1,1,2,bob,5,n\n4,3,1,1,2,ann,,\n5,5,1,1,2,,,\n",
            ),
            (".hidden", "job_id,submit_s,runtime_s,procs\n9,0,1,1\n"),
            ("below/c", "job_id,submit_s,runtime_s,procs\n9,0,1,1\n"),
            ("readme", "Our cluster, 2024\n"),
        ],
    );
    let trace = open(folder.path(), ALL).unwrap();
    let numbers: Vec<u64> = trace.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [4, 5, 1, 3]);
    let metadata = trace.metadata.as_ref().unwrap();
    let users: Vec<_> = (0..4).map(|row| metadata.user.get(row)).collect();
    assert_eq!(users, [Some("ann"), None, Some("ann"), Some("bob")]);
    assert_eq!(metadata.usage.get(2).unwrap().status.key(), "completed");
    assert_eq!(
        trace.slas.as_ref().unwrap()[3].budget.unwrap().as_f64(),
        5.0
    );
    let extra = trace.extra.as_ref().unwrap();
    assert_eq!(extra.names(), ["note", "site"]);
    assert_eq!(extra.row(2).collect::<Vec<_>>(), ["", "x"]);
    assert_eq!(trace.diagnostics.count(Finding::UnusableFile), 1);
    let messages = trace.diagnostics.to_string();
    let file = |name| folder.path().join(name).display().to_string();
    assert!(
        messages.contains(&format!("({}:3)", file("b"))),
        "{messages}"
    );
    assert!(messages.contains(&file("readme")), "{messages}");
}

#[test]
fn clocks_are_aligned_to_the_earliest_start() {
    let swf = |start: u64, number: u64| {
        format!("; UnixStartTime: {start}\n; MaxProcs: {start}\n{number} 10 0 5 1 -1 -1 1 9\n")
    };
    let (later, earlier) = (swf(1000, 1), swf(400, 2));
    let folder = TraceDir::new("clocks", &[("a.swf", &later), ("b.swf", &earlier)]);
    let trace = open(folder.path(), ALL).unwrap();
    assert_eq!(trace.unix_start, Some(Instant::from_secs(400)));
    assert_eq!(trace.max_procs, Some(1000));
    let submits: Vec<_> = trace
        .jobs
        .iter()
        .map(|job| (job.number, job.submit))
        .collect();
    assert_eq!(
        submits,
        [(2, Instant::from_secs(10)), (1, Instant::from_secs(610))]
    );
}

#[test]
fn attempts_stay_with_their_jobs() {
    let log = |cluster: &str, day: &str| {
        format!(
            "000 ({cluster}.0.0) 2024-03-{day} 10:00:00 a\n...\n001 ({cluster}.0.0) 2024-03-{day} \
             10:00:09 b\n...\n009 ({cluster}.0.0) 2024-03-{day} 10:00:19 c\n...\n"
        )
    };
    let (first, second) = (log("7", "20"), log("8", "19"));
    let folder = TraceDir::new("attempts", &[("a.log", &first), ("b.log", &second)]);
    let trace = open(folder.path(), ALL).unwrap();
    assert_eq!(trace.jobs[0].number, 8);
    let attempts = trace.metadata.unwrap().attempts.unwrap();
    for row in 0..2 {
        let [attempt] = attempts.of(row) else {
            panic!("{attempts:?}");
        };
        assert_eq!(
            (attempt.span(), attempt.ended),
            (Span::from_secs(10), TraceAttemptEnd::Removed)
        );
        let waited = attempt.start.since(trace.jobs[row].submit);
        assert_eq!(waited, Span::from_secs(9));
    }
}

#[test]
fn directories_without_a_trace_are_rejected() {
    let swf = "1 10 0 5 1 -1 -1 1 9\n";
    let table = "job_id,submit_s,runtime_s,procs\n9,0,1,1\n";
    let mixed = TraceDir::new("mixed", &[("a.swf", swf), ("b.csv", table)]);
    let error = open(mixed.path(), ALL).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("expected files of one format, found"),
        "{message}"
    );
    assert!(
        message.contains("a.swf` (Standard Workload Format)"),
        "{message}"
    );
    assert!(error.hint().unwrap().contains("one file at a time"));

    let empty = TraceDir::new("empty", &[]);
    let message = open(empty.path(), ALL).unwrap_err().to_string();
    assert!(
        message.ends_with("is empty; expected a trace with at least one job"),
        "{message}"
    );

    let words = TraceDir::new("words", &[("a", "hello there\n")]);
    let message = open(words.path(), ALL).unwrap_err().to_string();
    assert!(message.contains("found `hello there`"), "{message}");
}

#[test]
fn single_file_reports_its_format() {
    let trace = read("here", b"1 10 0 5 1 -1 -1 1 9\n".as_slice(), ALL).unwrap();
    assert_eq!(trace.format, Some(TraceFormat::Swf));
}

#[test]
fn job_in_overlapping_exports_counts_once() {
    let header = "JobID|User|State|Submit|Start|End|Elapsed|AllocCPUS\n";
    let record = |id: &str, hour: u32| {
        format!(
            "{id}|ann|COMPLETED|2024-05-01T0{hour}:00:00|2024-05-01T0{hour}:00:05|2024-05-01T09:00:00|00:10:00|2\n"
        )
    };
    let first = format!(
        "{header}{}{}{}",
        record("1", 1),
        record("2_1", 2),
        record("2_2", 2)
    );
    let second = format!(
        "{header}{}{}{}",
        record("2_1", 2),
        record("2_2", 2),
        record("3", 3)
    );
    let folder = TraceDir::new("overlap", &[("w1", &first), ("w2", &second)]);
    for columns in [ColumnSelection::All, ColumnSelection::Core] {
        let trace = open(folder.path(), ReadOptions { columns }).unwrap();
        let numbers: Vec<u64> = trace.jobs.iter().map(|job| job.number).collect();
        // Tasks of an array that differ in nothing are still two.
        assert_eq!(numbers, [1, 2, 2, 3]);
        assert_eq!(trace.diagnostics.count(Finding::SameRecord), 2);
        assert_eq!(trace.metadata.is_some(), columns == ColumnSelection::All);
    }
}
