//! Job ads as `condor_history -l` prints them and as the history file stores them: a line for each
//! attribute, `Name = value`, and a blank line or a line of asterisks between ads.
//!
//! `ad.rs` interprets the attributes. If an attribute occurs twice in an ad, the last value counts.

use std::borrow::Cow;
use std::io::BufRead;

use tollgate_model::Instant;

use super::job_ad::JobAd;
use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::{TextLine, for_each_line};
use crate::options::{ColumnSelection, ReadOptions};
use crate::record_reader;
use crate::trace::Trace;
use crate::trace_sink::TraceSink;

/// Reads every ad of `reader`; ads that are not jobs that have ended are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no ad was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `sink`.
pub(crate) fn read_to(
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut trace = sink.new_trace(source, options);
    trace.unix_start = Some(Instant::ZERO);
    let mut history = CondorHistoryReader {
        trace,
        sink,
        latest: Instant::ZERO,
        keep: options.columns,
        ad: JobAd::default(),
        begun: None,
    };
    for_each_line(reader, |number, line| history.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    history.finish_ad();
    history.sink.finish(history.trace)
}

/// Returns whether `line` is an attribute that is in every job ad, or an attribute that begins job
/// ads.
pub(crate) fn is_attribute(line: &[u8]) -> bool {
    attribute(line).is_some_and(|(name, _)| {
        [b"ClusterId".as_slice(), b"QDate", b"GlobalJobId", b"MyType"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    })
}

struct CondorHistoryReader<'o, 'v> {
    sink: &'o mut TraceSink<'v>,
    trace: Trace,
    latest: Instant,
    keep: ColumnSelection,
    ad: JobAd<'static>,
    /// The first line of the current ad.
    begun: Option<u64>,
}

impl CondorHistoryReader<'_, '_> {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let text = match line {
            TextLine::Text(text) => text.trim_ascii(),
            TextLine::TooLong => {
                return self.trace.diagnostics.record(Finding::LineTooLong, number);
            }
            TextLine::BehindZeros(_) => {
                return self.trace.diagnostics.record(Finding::ZeroBytes, number);
            }
        };
        // `condor_history -l` writes the name of each schedd (`-- Schedd: ..`) before its ads.
        let is_rule = [&b"***"[..], b"-- "]
            .iter()
            .any(|rule| text.starts_with(rule));
        if text.is_empty() || is_rule {
            return self.finish_ad();
        }
        match attribute(text) {
            Some((name, value)) => {
                self.begun.get_or_insert(number);
                if JobAd::is_known_attribute(name) {
                    self.ad.set(name, Cow::Owned(literal(value)));
                }
            }
            None => self.trace.diagnostics.record(Finding::Malformed, number),
        }
    }

    fn finish_ad(&mut self) {
        let ad = std::mem::take(&mut self.ad);
        let Some(line) = self.begun.take() else {
            return;
        };
        match ad.to_record(self.keep) {
            Ok(draft) => {
                self.sink.before_job(&mut self.trace);
                record_reader::push(&mut self.trace, draft, line, &mut self.latest);
            }
            Err(finding) => self.trace.diagnostics.record(finding, line),
        }
    }
}

/// Parses the name and the value of an attribute.
fn attribute(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', line)?;
    let (name, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!name.is_empty() && name.iter().all(is_name)).then_some((name, value))
}

/// Returns the text within quotation marks, with `\"` unescaped, or the value unchanged.
fn literal(value: &[u8]) -> Vec<u8> {
    let quoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    let Some(quoted) = quoted else {
        return value.to_vec();
    };
    let mut text = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'"' | b'\\')) => text.extend(bytes.next()),
            (byte, _) => text.push(byte),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Bytes, Span};

    use super::*;
    use crate::attempts::{TraceAttempt, TraceAttemptEnd};
    use crate::record_field::RecordField;
    use crate::usage::{TraceStatus, TraceUsage};

    const DONE: &str = "MyType = \"Job\"\nclusterid = 7\nProcId = 0\nQDate = 100\nJobStatus = 2\n\
        Owner = \"an\\\"n\"\nCmd = \"/bin/a.out\"\nNumJobStarts = 2\nJobStartDate = 110\n\
        JobCurrentStartDate = 160\nCompletionDate = 230\nCommittedTime = 70\n\
        CommittedSuspensionTime = 10\nRequestCpus = 2\nMaxHosts = 2\nRemoteUserCpu = 55.5\n\
        RemoteSysCpu = 0.5\nImageSize = 9\nResidentSetSize_RAW = 4\nRequestMemory = 100\n\
        ExitBySignal = FALSE\nExitCode = 0\nMaxWallTime = 60\nJobStatus = 4\nAcctGroup = \"staff\"\n";
    const REMOVED: &str = "ClusterId = 8\nProcId = 1\nQDate = 101\nJobStatus = 3\nLastJobStatus = 2\n\
        JobCurrentStartDate = 160\nEnteredCurrentStatus = 200\nRemoteWallClockTime = 40.0\n\
        RequestMemory = ifThenElse(a, b, c)\n";

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn ads_become_jobs() {
        assert!(is_attribute(b"ClusterId = 7"));
        let trace = parsed(&format!("{DONE}\n{REMOVED}*** Offset = 5\n"));
        let [done, removed] = trace.jobs[..] else {
            panic!("{trace:?}");
        };
        assert_eq!((done.number, done.procs), (7, 4));
        assert_eq!(done.runtime, Span::from_secs(60));
        assert_eq!(done.estimate, Span::from_secs(3600));
        assert_eq!(removed.runtime, Span::from_secs(40));
        let metadata = trace.metadata.unwrap();
        assert_eq!(metadata.user.get(0), Some("an\"n"));
        assert_eq!(metadata.group.get(0), Some("staff"));
        assert_eq!(
            metadata.usage.get(0).unwrap(),
            TraceUsage {
                held: None,
                wait: Some(Span::from_secs(10)),
                cpu_time: Some(Span::from_secs(56)),
                peak_memory: Some(Bytes::from_kibibytes(4)),
                requested_memory: Some(Bytes::new(100 << 20)),
                status: TraceStatus::Completed,
            }
        );
        let attempt = |start, end, ended| TraceAttempt {
            start: Instant::from_secs(start),
            end: Instant::from_secs(end),
            ended,
        };
        let attempts = metadata.attempts.unwrap();
        assert_eq!(
            attempts.of(0),
            [attempt(160, 230, TraceAttemptEnd::Finished)]
        );
        assert_eq!(
            attempts.of(1),
            [attempt(160, 200, TraceAttemptEnd::Removed)]
        );
        let expression = Finding::Expression(RecordField::RequestedMemory);
        assert_eq!(trace.diagnostics.count(expression), 1);
        assert_eq!(trace.diagnostics.count(Finding::SharedNumber), 1);
    }

    #[test]
    fn run_of_a_removed_job_is_its_last_attempt() {
        let removed = |lines: &str| {
            let ad = "ClusterId = 8\nQDate = 101\nJobStatus = 3\nCommittedTime = 0\n\
                JobCurrentStartDate = 160\nCompletionDate = 0\nEnteredCurrentStatus = 200\n";
            parsed(&format!("{ad}{lines}")).jobs[0].runtime
        };
        let suspended = "CumulativeSuspensionTime = 5\n";
        let all = format!("RemoteWallClockTime = 90.0\n{suspended}");
        assert_eq!(removed(&all), Span::from_secs(85));
        let last = format!("{all}LastRemoteWallClockTime = 39.0\n");
        assert_eq!(removed(&last), Span::from_secs(39));
        let only = format!("{all}LastRemoteWallClockTime = 90.0\n");
        assert_eq!(removed(&only), Span::from_secs(85));
        // Ads without any sum of times, as gatekeepers and the job router leave them.
        assert_eq!(removed(""), Span::from_secs(40));
        assert_eq!(removed("LastJobStatus = 1\n"), Span::ZERO);
    }

    #[test]
    fn non_job_ads_are_counted() {
        let text = format!(
            "{DONE}\nfoo\n\nClusterId = 1\n\nClusterId = 1\nQDate = 5\nJobStatus = 2\n\n\
             ClusterId = x\n\nClusterId = 1\nQDate = 5\nJobStatus = 77\n"
        );
        let trace = parsed(&text);
        assert_eq!(trace.jobs.len(), 1);
        for finding in [
            Finding::Malformed,
            Finding::Missing(RecordField::Submit),
            Finding::NotEnded,
            Finding::NotANumber(RecordField::JobNumber),
            Finding::UnknownState,
        ] {
            assert_eq!(trace.diagnostics.count(finding), 1, "{}", trace.diagnostics);
        }
    }
}
