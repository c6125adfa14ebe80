//! Tests of the messages about input that is wrong, wholly or in part.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_model::{Instant, Span};
use tollgate_trace::{
    ColumnSelection, Finding, OpenError, ReadError, ReadOptions, RecordField, Trace, open, read,
};

const HEADER: &str = "job_id,submit_s,runtime_s,procs,estimate_s,deadline_s,budget,penalty_per_s\n";

fn outcome(bytes: impl AsRef<[u8]>) -> Result<Trace, OpenError> {
    read("jobs", bytes.as_ref(), ReadOptions::default())
}

fn message(bytes: impl AsRef<[u8]>) -> String {
    outcome(bytes).unwrap_err().to_string()
}

fn findings(bytes: impl AsRef<[u8]>) -> String {
    outcome(bytes).unwrap().diagnostics.to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn records(n: usize) -> String {
    (1..=n)
        .map(|n| {
            format!(
                "{n} {} -1 {} 4 -1 -1 4 900 -1 1 3 1 -1 1 -1 -1 -1\n",
                n * 7,
                n * 13 % 101 + 1
            )
        })
        .collect()
}

#[test]
fn truncated_gzip_names_the_line_and_gives_a_hint() {
    let text = records(20_000);
    let whole = gzip(&text);
    assert_eq!(outcome(&whole).unwrap().jobs.len(), 20_000);
    for cut in [whole.len() - 1, whole.len() / 2, 30] {
        let error = outcome(&whole[..cut]).unwrap_err();
        let ReadError::TruncatedGzip { line } = error.cause else {
            panic!("{error}");
        };
        assert!((1..=20_001).contains(&line));
        assert!(
            error
                .to_string()
                .starts_with(&format!("jobs: line {line}: the gzip data stops"))
        );
        assert!(error.hint().unwrap().contains("gzip -t"));
    }
}

#[test]
fn truncated_gzip_table_is_an_error() {
    let mut text = HEADER.to_owned();
    for n in 0..20_000 {
        text += &format!("{n},{n},{},1,9,,,\n", n * 7919 % 1013 + 1);
    }
    let whole = gzip(&text);
    let error = outcome(&whole[..whole.len() - 9]).unwrap_err();
    assert!(
        matches!(error.cause, ReadError::TruncatedGzip { .. }),
        "{error}"
    );
}

#[test]
fn damaged_gzip_is_distinguished_from_truncated() {
    let mut damaged = gzip(&records(1000));
    let last = damaged.len() - 6;
    damaged[last] ^= 0xff;
    let error = outcome(damaged).unwrap_err();
    assert!(
        matches!(error.cause, ReadError::DamagedGzip { .. }),
        "{error}"
    );
}

#[test]
fn binary_file_error_names_its_kind() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    assert_eq!(
        message(png),
        "jobs: line 1: expected a text trace, found binary data"
    );
    let parquet = outcome(b"PAR1\x15\x04\x15").unwrap_err();
    assert_eq!(
        parquet.to_string(),
        "jobs: line 1: expected a text trace, found a Parquet file"
    );
    assert_eq!(parquet.hint(), Some("write it as CSV first"));
    assert!(message(b"BZh91AY&SY").ends_with("found a bzip2 file"));
    let zeros_in_gzip = gzip("1 2\0\0\0\0");
    assert!(message(zeros_in_gzip).ends_with("found binary data"));
}

#[test]
fn empty_input_error_names_the_expected_formats() {
    for nothing in ["", "\n", "  \n\n \r\n"] {
        assert_eq!(
            message(nothing),
            "jobs: is empty; expected a trace with at least one job"
        );
    }
    assert!(matches!(
        outcome(gzip("")).unwrap_err().cause,
        ReadError::Empty
    ));
}

#[test]
fn text_of_unknown_format_is_quoted_in_the_error() {
    let error =
        outcome("\nDear colleague, please find attached the accounting of last year.").unwrap_err();
    assert_eq!(
        error.to_string(),
        "jobs: line 2: expected a record of SWF or GWF, an accounting record of Grid Engine, Slurm, \
         PBS or LSF, events of Slurm's simulator, HTCondor's history or event log, or the header of a job table \
         (`job_id,submit_s,runtime_s,procs,..`), found `Dear colleague, please find \
         attached the..`"
    );
    assert!(error.hint().is_some());
    let no_header = outcome("1,0,10,4\n2,5,10,4\n").unwrap_err();
    assert!(matches!(
        no_header.cause,
        ReadError::UnknownFormat { line: 1, .. }
    ));
}

#[test]
fn odd_first_line_does_not_prevent_reading() {
    let trace =
        outcome("Our cluster, 2024\n1 0 -1 10 4 -1 -1 4 20 -1 1 -1 -1 -1 -1 -1 -1 -1\n").unwrap();
    assert_eq!(trace.jobs.len(), 1);
    assert_eq!(
        trace.diagnostics.to_string(),
        "1 line skipped: fewer than 5 fields (line 1)"
    );
}

#[test]
fn missing_file_is_named() {
    let error = open("no/such/trace.swf".as_ref(), ReadOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no/such/trace.swf: cannot be opened: "),
        "{error}"
    );
}

#[test]
fn trace_without_jobs_is_an_error_with_reasons() {
    assert_eq!(
        message("; MaxProcs: 128\n; nothing ran that year\n"),
        "jobs: no usable line; expected at least one job"
    );
    assert_eq!(
        message(HEADER),
        "jobs: no usable line; expected at least one job"
    );
    assert_eq!(
        message("; MaxProcs: 128\n1 2 3\n1 x 3 4 5\n"),
        "jobs: no usable line; expected at least one job: \
         1 line skipped: fewer than 5 fields (line 2); \
         1 line skipped: submit time is not a number (line 3)"
    );
}

#[test]
fn endless_record_is_not_buffered() {
    let record = "12/21/2009 15:28:00;E;6;user=ann ctime=100 start=160 end=220\n";
    let junk = "and so on\n".repeat(300_000);
    let trace = outcome(format!("{record}{record}{junk}{record}")).unwrap();
    assert_eq!(trace.jobs.len(), 3);
    assert_eq!(trace.diagnostics.count(Finding::StrayLine), 300_000);

    let quoted = record.replace("user=ann", &format!("user=ann account=\"{junk}\""));
    let trace = outcome(format!("{record}{quoted}{record}")).unwrap();
    assert_eq!(trace.jobs.len(), 2);
}

#[test]
fn short_lines_are_skipped_and_counted() {
    let text = "1 0 -1 10 4\n2 1 3\n\n3 5 -1 10 4\n4 6 -1 10\n";
    let trace = outcome(text).unwrap();
    assert_eq!(trace.jobs.len(), 2);
    assert_eq!(trace.diagnostics.count(Finding::TooFewFields), 2);
    assert!(findings(text).starts_with("2 lines skipped: fewer than 5 fields (lines 2, 5)"));

    let table = format!("{HEADER}1,0,10,4,20,,,\n2,5,10\n3,5,10,4,20,,,,,\n");
    assert_eq!(
        findings(table),
        "2 lines skipped: not as many fields as the header has (lines 3, 4)"
    );
}

#[test]
fn text_in_a_number_field_is_reported_with_the_field() {
    let swf = "1 0 -1 10 4 -1 -1 4 20\n2 1 -1 ten 4\n3 1 -1 10 4x\n4 1 -1 10 -1 -1 -1 four\n\
               five 1 -1 10 4\n6 1 -1 10 2.5\n7 1 -1 10 4 -1 -1 4 soon\n";
    assert_eq!(
        findings(swf),
        "1 line skipped: job number is not a number (line 5)\n\
         1 line skipped: run time is not a number (line 2)\n\
         3 lines defaulted: 1 processor for lack of any number of them (lines 3, 4, 6)\n\
         4 lines defaulted: the run time for lack of an estimate (lines 3, 4, 6, ..)\n\
         3 lines defaulted: processors taken as missing, expected 1 to 10 million (lines 3, 4, 6)\n\
         1 line defaulted: estimate taken as missing, expected at most 1e11 seconds (line 7)"
    );
    let table = format!("{HEADER}1,0,10,4,20,,,\n2,now,10,4,20,,,\n,5,10,4,20,,,\n");
    assert_eq!(
        findings(table),
        "1 line skipped: job number is not a number (line 4)\n\
         1 line skipped: submit time is not a number (line 3)"
    );
}

#[test]
fn impossible_values_are_skipped_or_repaired() {
    let swf = "1 0 -1 10 4 -1 -1 4 20\n2 -5 -1 10 4\n3 1 -1 1e12 4\n4 1 -1 10 20000000\n\
               5 1 -1 10 4 -1 -1 4 2e11\n6 2 -1 -3600 4 -1 -1 4 20\n-7 2 -1 10 4\n";
    let trace = outcome(swf).unwrap();
    assert_eq!(
        trace.diagnostics.to_string(),
        "1 line skipped: job number out of range, expected a whole number, 0 or more (line 7)\n\
         1 line skipped: submit time out of range, expected 0 to 1e11 seconds (line 2)\n\
         1 line skipped: run time out of range, expected at most 1e11 seconds (line 3)\n\
         1 line repaired: negative run time, taken as never run (line 6)\n\
         1 line defaulted: 1 processor for lack of any number of them (line 4)\n\
         2 lines defaulted: the run time for lack of an estimate (lines 4, 5)\n\
         1 line defaulted: processors taken as missing, expected 1 to 10 million (line 4)\n\
         1 line defaulted: estimate taken as missing, expected at most 1e11 seconds (line 5)"
    );
    assert_eq!(trace.jobs[3].runtime, Span::from_secs(-1));
}

#[test]
fn missing_values_are_defaulted_and_counted() {
    let swf = "1 0 -1 10 -1 -1 -1 8 20\n2 1 -1 10 -1\n3 2 -1 -1 4 -1 -1 4 -1\n";
    let trace = outcome(swf).unwrap();
    let procs: Vec<u32> = trace.jobs.iter().map(|job| job.procs).collect();
    assert_eq!(procs, [8, 1, 4]);
    assert_eq!(trace.jobs[1].estimate, Span::from_secs(10));
    assert_eq!(trace.jobs[2].estimate, Span::from_secs(-1));
    assert_eq!(
        trace.diagnostics.to_string(),
        "1 line defaulted: requested processors for lack of allocated ones (line 1)\n\
         1 line defaulted: 1 processor for lack of any number of them (line 2)\n\
         2 lines defaulted: the run time for lack of an estimate (lines 2, 3)"
    );
}

#[test]
fn skipped_line_has_no_other_finding() {
    let trace = outcome("1 0 -1 10 4 -1 -1 4 20\n2 1 -1 soon -1 -1 -1 -1 -1\n").unwrap();
    assert_eq!(trace.diagnostics.iter().count(), 1);
}

#[test]
fn out_of_order_jobs_keep_file_order_and_are_reported() {
    let text = "1 10 -1 10 4 -1 -1 4 20\n2 5 -1 10 4 -1 -1 4 20\n3 7 -1 10 4 -1 -1 4 20\n\
                4 10 -1 10 4 -1 -1 4 20\n";
    let trace = outcome(text).unwrap();
    assert_eq!(trace.jobs[1].submit, Instant::from_secs(5));
    assert_eq!(
        trace.diagnostics.to_string(),
        "2 lines repaired: submit times out of order, jobs sorted by them (lines 2, 3)"
    );
}

#[test]
fn impossible_slas_count_as_missing() {
    let table = format!(
        "{HEADER}1,0,10,4,20,NaN,5,1\n2,0,10,4,20,-3,-5,-1\n3,0,10,4,20,0,,inf\n4,0,10,4,20,60,0,0\n"
    );
    let trace = outcome(table).unwrap();
    assert_eq!(
        trace.diagnostics.to_string(),
        "3 lines defaulted: deadline taken as missing, expected more than 0 and at most 1e11 \
         seconds (lines 2, 3, 4)\n\
         1 line defaulted: budget taken as missing, expected 0 to 1e12 credits (line 3)\n\
         2 lines defaulted: penalty rate taken as missing, expected 0 to 1e12 credits (lines 3, 4)"
    );
    assert_eq!(
        trace
            .diagnostics
            .count(Finding::Unusable(RecordField::Deadline)),
        3
    );
    let deadlines: Vec<_> = trace.slas.unwrap().iter().map(|sla| sla.deadline).collect();
    assert_eq!(deadlines, [None, None, None, Some(Span::from_secs(60))]);
}

#[test]
fn unclosed_quotation_mark_is_reported() {
    let table = format!("{HEADER}1,0,10,4,20,,,\n2,5,10,4,20,,\"9,\n3,6,10,4,20,,,\n");
    assert_eq!(
        findings(table),
        "1 line skipped: a quotation mark that is not closed takes the lines after it along \
         (line 3)"
    );
}

#[test]
fn contradictory_headers_are_rejected() {
    let twice = outcome("job_id,submit_s,runtime_s,procs,procs\n1,2,3,4,5\n").unwrap_err();
    assert_eq!(
        twice.to_string(),
        "jobs: line 1: expected every column once in the header, found `procs` twice"
    );
    let unknown_twice = message("job_id,submit_s,runtime_s,procs,site,site\n1,2,3,4,5,6\n");
    assert!(unknown_twice.contains("`site` twice"));
    let missing = outcome("job_id,submit_s,procs\n1,2,3\n").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "jobs: line 1: expected a column `runtime_s` in the header of the job table"
    );
    assert!(missing.hint().unwrap().contains("required"));
}

#[test]
fn repeated_headers_of_concatenated_files_are_skipped() {
    let table = format!("{HEADER}1,0,10,4,20,,,\n{HEADER}2,5,10,4,20,,,\n");
    let trace = outcome(table).unwrap();
    assert_eq!(trace.jobs.len(), 2);
    assert_eq!(
        trace.diagnostics.to_string(),
        "1 line skipped: the header once more (line 3)"
    );

    let swf = "; MaxProcs: 128\n; MaxProcs: 128\n; MaxProcs: 64\n; MaxNodes: many\n\
               1 0 -1 10 4 -1 -1 4 20\n";
    let trace = outcome(swf).unwrap();
    assert_eq!((trace.max_procs, trace.max_nodes), (Some(128), None));
    assert_eq!(
        trace.diagnostics.to_string(),
        "1 line ignored: no number in a header directive (line 4)\n\
         1 line ignored: a header directive contradicts an earlier one (line 3)"
    );
}

#[test]
fn non_utf8_names_are_repaired_once_per_line() {
    let table = b"job_id,submit_s,runtime_s,procs,user,site\n1,0,10,4,J\xf6rg,K\xf6ln\n";
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let trace = read("jobs", table.as_slice(), options).unwrap();
    assert_eq!(trace.diagnostics.count(Finding::NameNotUtf8), 1);
    assert_eq!(trace.metadata.unwrap().user.get(0), Some("J\u{fffd}rg"));

    let swf = b"1 0 -1 10 4 -1 -1 4 20 -1 1 j\xf6rg g\xf6 1 -1 -1 -1 -1\n";
    let trace = read("jobs", swf.as_slice(), options).unwrap();
    assert_eq!(trace.diagnostics.count(Finding::NameNotUtf8), 1);
}

#[test]
fn byte_order_mark_and_quotes_are_accepted() {
    let swf = outcome("\u{feff}1 0 -1 10 4 -1 -1 4 20\n").unwrap();
    assert_eq!((swf.jobs.len(), swf.diagnostics.is_empty()), (1, true));
    let quoted =
        "\u{feff}\"job_id\",\"submit_s\",\"runtime_s\",\"procs\",\"estimate_s\"\n1,0,10,4,9\n";
    assert_eq!(outcome(quoted).unwrap().jobs.len(), 1);
}

/// A reader that returns one byte at a time and is interrupted between bytes, as pipes may be.
struct OneByteReader<'a>(&'a [u8], bool);

impl std::io::Read for OneByteReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let n = self.0.len().min(buffer.len()).min(1);
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

#[test]
fn slow_interrupted_reader_gives_the_same_trace() {
    let text = records(50);
    let whole = outcome(&text).unwrap();
    let compressed = gzip(&text);
    for bytes in [text.as_bytes(), compressed.as_slice()] {
        let slow = read("jobs", OneByteReader(bytes, false), ReadOptions::default()).unwrap();
        assert_eq!(slow, whole);
    }
}

#[test]
fn io_error_is_not_reported_as_bad_trace() {
    struct FailingReader;
    impl std::io::Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let bytes = std::io::Read::chain(
        records(3).as_bytes().to_vec().leak() as &[u8],
        FailingReader,
    );
    let error = read("jobs", bytes, ReadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "jobs: line 4: cannot be read: the disk is on fire"
    );
}
