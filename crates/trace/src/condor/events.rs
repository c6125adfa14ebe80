//! HTCondor's job event log, also called user log: events of jobs, in order of time, separated by a
//! line of three dots.
//!
//! A job begins with its submission (000) and ends when it terminates (005) or is aborted (009). In between
//! every stretch of running is a [`TraceAttempt`](crate::TraceAttempt). It begins when the job executes (001)
//! or resumes (011). It ends when it is suspended (010), evicted (004), checkpointed (003), put on hold
//! (012), or lost with its shadow (007) or connection (024). Other events change nothing that is read.
//!
//! - Run time: the time that the job ran since it last lost its work, without suspensions.
//! - Wait: until it first executed. Processors, memory and processor time: from the last events.
//! - Names are not in the log. The processes of a cluster share the number of the cluster.
//! - Times have no zone and are taken as UTC. If dates have no year, the first year is taken as
//!   2000.

mod event;
mod job;

use std::collections::BTreeMap;
use std::io::BufRead;

use event::{CondorEvent, CondorJobId, EventCalendar};
use job::CondorEventJob;
use tollgate_model::Instant;

use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::{MAX_LINE, TextLine, for_each_line};
use crate::options::{ColumnSelection, ReadOptions};
use crate::record_reader::{self, ParsedRecord};
use crate::trace::Trace;
use crate::trace_sink::TraceSink;

/// The line that separates events.
const END: &[u8] = b"...";

/// Reads every event of `reader` and returns the jobs that have ended, in order of submission;
/// malformed events are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no job has ended.
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
    let mut log = EventLogReader {
        trace,
        keep: options.columns,
        calendar: EventCalendar::default(),
        pending: Vec::new(),
        begun: 1,
        open: BTreeMap::new(),
        ended: Vec::new(),
    };
    for_each_line(reader, |number, line| log.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    let trace = log.finish(sink);
    sink.finish(trace)
}

/// Returns whether `line` is the first of an event: a number of three digits and a job in
/// parentheses.
pub(crate) fn begins_event(line: &[u8]) -> bool {
    matches!(line, [a, b, c, b' ', b'(', rest @ ..]
        if [a, b, c].into_iter().all(u8::is_ascii_digit) && rest.contains(&b')'))
}

struct EventLogReader {
    trace: Trace,
    keep: ColumnSelection,
    calendar: EventCalendar,
    /// The event whose last line has not been read yet, and its first line number.
    pending: Vec<u8>,
    begun: u64,
    /// The jobs that have not ended yet.
    open: BTreeMap<CondorJobId, CondorEventJob>,
    /// The jobs that have ended, with the line of their submission.
    ended: Vec<(u64, ParsedRecord<'static>)>,
}

impl EventLogReader {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let text = match line {
            TextLine::Text(text) => text.strip_suffix(b"\r").unwrap_or(text),
            TextLine::TooLong => {
                return self.trace.diagnostics.record(Finding::LineTooLong, number);
            }
            TextLine::BehindZeros(text) => {
                // The event before them was cut off.
                self.pending.clear();
                self.trace.diagnostics.record(Finding::ZeroBytes, number);
                if !begins_event(text) {
                    return;
                }
                text
            }
        };
        if text == END {
            return self.finish_event();
        }
        if begins_event(text) {
            self.finish_event();
        }
        if self.pending.is_empty() {
            self.begun = number;
        }
        // An event has some dozens of lines; an event without an end must not be held in memory.
        if self.pending.len() + text.len() <= MAX_LINE {
            self.pending.extend_from_slice(text);
            self.pending.push(b'\n');
        }
    }

    fn finish_event(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !text.trim_ascii().is_empty()
            && let Err(finding) = self.event(&text)
        {
            self.trace.diagnostics.record(finding, self.begun);
        }
        self.pending = text;
        self.pending.clear();
    }

    fn event(&mut self, text: &[u8]) -> Result<(), Finding> {
        let event = CondorEvent::parse(text, &mut self.calendar)?;
        if event.code == event::SUBMITTED {
            let job = CondorEventJob::new(event.time, self.begun, self.calendar.take_notes());
            if let Some(before) = self.open.insert(event.id, job) {
                self.trace
                    .diagnostics
                    .record(Finding::NotEnded, before.line);
            }
            return Ok(());
        }
        let job = self.open.get_mut(&event.id);
        let job = job.ok_or(Finding::NotSubmitted)?;
        let status = job.apply(&event);
        if let Some(status) = status
            && let Some(job) = self.open.remove(&event.id)
        {
            let line = job.line;
            let record = job.into_record(event.id, status, self.keep)?;
            self.ended.push((line, record));
        }
        Ok(())
    }

    fn finish(mut self, sink: &mut TraceSink<'_>) -> Trace {
        self.finish_event();
        for job in self.open.values() {
            self.trace.diagnostics.record(Finding::NotEnded, job.line);
        }
        self.ended
            .sort_by_key(|(line, draft)| (draft.submit, *line));
        let mut latest = Instant::ZERO;
        for (line, draft) in self.ended {
            sink.before_job(&mut self.trace);
            record_reader::push(&mut self.trace, draft, line, &mut latest);
        }
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Bytes, Span};

    use super::*;
    use crate::attempts::TraceAttemptEnd;
    use crate::usage::TraceStatus;

    fn event(code: &str, at: &str, rest: &str) -> String {
        format!("{code} (7.000.000) 03/20 {at} {rest}\n...\n")
    }

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    fn done(at: &str) -> String {
        event(
            "005",
            at,
            "Job terminated.\n\t(1) Normal termination (return value 0)\n\
             \t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\
             \tPartitionable Resources :    Usage  Request Allocated\n\
             \t   Cpus                 :                 1         2\n\
             \t   Memory (MB)          :       12      100       128",
        )
    }

    #[test]
    fn evictions_and_suspensions_are_attempts() {
        let text = event(
            "000",
            "10:00:00",
            "Job submitted from host: <a>\n    DAG Node: A",
        ) + &event("001", "10:01:00", "Job executing on host: <b>")
            + &event(
                "004",
                "10:05:00",
                "Job was evicted.\n\t(0) Job was not checkpointed.",
            )
            + &event("001", "10:10:00", "Job executing on host: <c>")
            + &event(
                "006",
                "10:11:00",
                "Image size of job updated: 5\n\t3  -  ResidentSetSize of job (KB)",
            )
            + &event("010", "10:12:00", "Job was suspended.")
            + &event("011", "10:20:00", "Job was unsuspended.")
            + &event(
                "004",
                "10:21:00",
                "Job was evicted.\n\t(1) Job was checkpointed.",
            )
            + &event("001", "10:30:00", "Job executing on host: <c>")
            + &done("10:31:00");
        let trace = parsed(&text);
        let job = trace.jobs[0];
        assert_eq!((job.number, job.procs), (7, 2));
        assert_eq!(job.runtime, Span::from_secs(240));
        let metadata = trace.metadata.unwrap();
        let usage = metadata.usage.get(0).unwrap();
        assert_eq!(usage.wait, Some(Span::from_secs(60)));
        assert_eq!(usage.cpu_time, Some(Span::from_secs(7)));
        assert_eq!(usage.peak_memory, Some(Bytes::new(12 << 20)));
        assert_eq!(usage.requested_memory, Some(Bytes::new(100 << 20)));
        assert_eq!(usage.status, TraceStatus::Completed);
        let attempts: Vec<(i64, TraceAttemptEnd)> = metadata
            .attempts
            .unwrap()
            .of(0)
            .iter()
            .map(|attempt| (attempt.span().as_micros() / 1_000_000, attempt.ended))
            .collect();
        assert_eq!(
            attempts,
            [
                (240, TraceAttemptEnd::Evicted),
                (120, TraceAttemptEnd::Suspended),
                (60, TraceAttemptEnd::Checkpointed),
                (60, TraceAttemptEnd::Finished),
            ]
        );
        assert_eq!(
            trace.diagnostics.to_string(),
            "1 line defaulted: the run time for lack of an estimate (line 1)\n\
             1 line defaulted: UTC for lack of a zone (line 1)\n\
             1 line defaulted: the year 2000 and those after it for lack of one (line 1)"
        );
    }

    #[test]
    fn jobs_are_in_submission_order_across_years() {
        let other = |text: String| text.replace("(7.000.000)", "(8.001.000)");
        let text = event("000", "10:00:00", "a").replace("03/20", "12/31")
            + &other(event("000", "10:00:00", "b").replace("03/20", "12/31"))
            + &other(event("001", "00:00:00", "b").replace("03/20", "01/01"))
            + &other(event("009", "00:01:00", "Job was aborted.").replace("03/20", "01/01"))
            + &event("009", "00:02:00", "Job was aborted.").replace("03/20", "01/01");
        let trace = parsed(&text);
        assert_eq!((trace.jobs[0].number, trace.jobs[1].number), (7, 8));
        assert_eq!(trace.jobs[0].runtime, record_reader::NEVER_RAN);
        assert_eq!(trace.jobs[1].runtime, Span::from_secs(60));
        let usage = &trace.metadata.unwrap().usage;
        assert_eq!(usage.get(1).unwrap().wait, Some(Span::from_secs(50_400)));
        assert_eq!(usage.get(1).unwrap().status, TraceStatus::Cancelled);
        assert_eq!(trace.diagnostics.count(Finding::SharedNumber), 1);
        assert_eq!(trace.diagnostics.count(Finding::OutOfOrder), 0);
    }

    #[test]
    fn non_job_events_are_counted() {
        let text = "001 (-01.-01.-01) 05/22 18:28:20 Job executing on host:\n...\n\
                    foo\n...\n001 (9.0.0) 03/20 10:00:00 Job executing\n...\n\
                    000 (9.0.0) 13/20 10:00:00 Job submitted\n...\n"
            .to_owned()
            + &event("000", "10:00:00", "a")
            + &event("000", "11:00:00", "a")
            + &event("001", "10:30:00", "Job executing")
            + &done("12:00:00")
            + &event("000", "13:00:00", "a");
        let trace = parsed(&text);
        assert_eq!(trace.jobs.len(), 1);
        assert_eq!(trace.jobs[0].runtime, Span::from_secs(3600));
        for (finding, count) in [
            (Finding::OutOfRange(crate::RecordField::JobNumber), 1),
            (Finding::Malformed, 1),
            (Finding::NotSubmitted, 1),
            (Finding::NotATime(crate::RecordField::Event), 1),
            (Finding::NotEnded, 2),
            (Finding::TimeWentBack, 1),
        ] {
            let found = trace.diagnostics.count(finding);
            assert_eq!(found, count, "{finding}: {}", trace.diagnostics);
        }
    }
}
