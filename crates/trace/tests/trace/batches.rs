//! Tests that a trace read in batches equals the trace read at once.

use std::fmt::Write;
use std::io::{self, Read};

use tollgate_trace::batches::{BatchReadError, read_in_batches};
use tollgate_trace::diagnostics::FindingOccurrence;
use tollgate_trace::{ColumnSelection, Finding, ReadOptions, Trace, open};

const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// More than two batches.
const JOBS: usize = 40_000;

/// The visited batches, with their numbers of jobs and findings.
#[derive(Default)]
struct VisitedBatches {
    batches: usize,
    /// Job number, user and wait, as text.
    rows: Vec<String>,
    each: Vec<FindingOccurrence>,
}

impl VisitedBatches {
    fn take(&mut self, batch: &Trace) {
        self.batches += 1;
        self.rows.extend(rows(batch));
        self.each.extend_from_slice(batch.diagnostics.occurrences());
    }
}

fn rows(trace: &Trace) -> impl Iterator<Item = String> {
    let metadata = trace.metadata.as_ref().unwrap();
    let extra = |row| {
        trace
            .extra
            .as_ref()
            .map(|extra| extra.row(row).collect::<Vec<_>>())
    };
    trace.jobs.iter().enumerate().map(move |(row, job)| {
        format!(
            "{job:?} {:?} {:?} {:?} {} {:?}",
            metadata.user.get(row),
            metadata.usage.get(row).unwrap(),
            trace.slas.as_ref().map(|slas| slas[row]),
            trace.has_estimate(row),
            extra(row),
        )
    })
}

/// Reads `text` both ways, compares the results and returns the batches.
fn compared(text: &str) -> VisitedBatches {
    let whole = open::read("both", text.as_bytes(), OPTIONS).unwrap();
    let mut gathered = VisitedBatches::default();
    let rest = read_in_batches("both", text.as_bytes(), OPTIONS, |batch| {
        gathered.take(batch);
        Ok::<(), ()>(())
    })
    .unwrap_or_else(|_| panic!("can be read"));
    assert!(
        gathered
            .rows
            .iter()
            .eq(rows(&whole).collect::<Vec<_>>().iter())
    );
    assert!(rest.jobs.is_empty());
    assert_eq!(rest.diagnostics.to_string(), whole.diagnostics.to_string());
    assert_eq!(rest.comments, whole.comments);
    assert_eq!(rest.format, whole.format);
    for (finding, tally) in whole.diagnostics.iter() {
        let each = gathered.each.iter().filter(|each| each.finding == finding);
        assert_eq!(each.count() as u64, tally.count, "{finding}");
    }
    gathered
}

#[test]
fn swf_batches_equal_the_whole_trace() {
    let mut text = String::from("; Version: 2.2\n; MaxProcs: 64\n");
    for job in 0..JOBS {
        // Every third job has no estimate, and every seventh line is not a job.
        let estimate = if job % 3 == 0 { -1 } else { 100 };
        writeln!(
            text,
            "{job} {job} 5 10 4 -1 -1 4 {estimate} -1 1 {} 2 3",
            job % 50
        )
        .unwrap();
        if job % 7 == 0 {
            text.push_str("1 2 3\n");
        }
    }
    let gathered = compared(&text);
    assert!(gathered.batches > 2);
    let first = gathered.each[0];
    assert_eq!((first.line, first.finding), (3, Finding::RunTimeAsEstimate));
    assert_eq!(gathered.each[1].line, 4);
}

#[test]
fn job_table_batches_equal_the_whole_trace() {
    let mut text = String::from("job_id,submit_s,runtime_s,procs,user,deadline_s,site\n");
    for job in 0..JOBS {
        writeln!(
            text,
            "{job},{job},10,2,user{},{},s{}",
            job % 9,
            job + 1,
            job % 4
        )
        .unwrap();
    }
    assert!(compared(&text).batches > 2);
}

/// The steps of a job come after it, so that no batch may end between them.
#[test]
fn sacct_batches_keep_steps_with_their_job() {
    let mut text =
        String::from("JobID|User|State|Submit|Start|End|AllocCPUS|Timelimit|MaxRSS|TotalCPU\n");
    let times = "2025-01-01T00:00:00|2025-01-01T00:01:00|2025-01-01T00:02:00";
    for job in 1..=JOBS {
        writeln!(text, "{job}|ann|COMPLETED|{times}|4|01:00:00||").unwrap();
        writeln!(text, "{job}.batch||COMPLETED|{times}|4||{job}K|00:00:30").unwrap();
    }
    let gathered = compared(&text);
    assert!(gathered.batches > 2);
    assert!(
        gathered
            .rows
            .iter()
            .all(|row| !row.contains("peak_memory: None"))
    );
}

#[test]
fn findings_are_listed_even_without_jobs() {
    let mut text = String::from("; MaxProcs: 64\n");
    for _ in 0..JOBS {
        text.push_str("1 2 3\n");
    }
    let mut each = 0;
    let outcome = read_in_batches("bad", text.as_bytes(), OPTIONS, |batch| {
        each += batch.diagnostics.occurrences().len();
        Ok::<(), ()>(())
    });
    assert_eq!(each, JOBS);
    let Err(BatchReadError::Input(error)) = outcome else {
        panic!("there is no job");
    };
    assert!(error.to_string().contains("no usable line"), "{error}");
}

#[test]
fn reading_stops_at_the_visitor_error() {
    /// An endless stream of jobs, one byte at a time if necessary.
    struct EndlessReader(usize);
    impl Read for EndlessReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let line = b"1 0 -1 10 4 -1 -1 4 20\n";
            for byte in &mut *buffer {
                *byte = line[self.0 % line.len()];
                self.0 += 1;
            }
            Ok(buffer.len())
        }
    }
    let mut batches = 0;
    let outcome = read_in_batches("endless", EndlessReader(0), OPTIONS, |_| {
        batches += 1;
        if batches < 3 { Ok(()) } else { Err("enough") }
    });
    assert!(matches!(outcome, Err(BatchReadError::Visitor("enough"))));
    assert_eq!(batches, 3);
}
