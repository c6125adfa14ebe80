//! The state of one job, accumulated from its events.

use tollgate_model::{Bytes, Instant, Span};

use super::event::{self, CondorEvent, CondorJobId};
use crate::attempts::{TraceAttempt, TraceAttemptEnd};
use crate::finding::Finding;
use crate::options::ColumnSelection;
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::record_reader::{NEVER_RAN, ParsedRecord, wait_time};
use crate::trace_metadata::RecordNames;
use crate::usage::{TraceStatus, TraceUsage};

const KIBI: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;

/// A job that has not ended yet.
pub(super) struct CondorEventJob {
    submit: Instant,
    /// The line of its submission.
    pub(super) line: u64,
    attempts: Vec<TraceAttempt>,
    /// Start of the current attempt, if the job runs.
    running: Option<Instant>,
    /// Time of the latest event.
    latest: Instant,
    procs: Option<u32>,
    cpu_time: Option<Span>,
    peak_memory: Option<Bytes>,
    requested_memory: Option<Bytes>,
    notes: Vec<Finding>,
}

impl CondorEventJob {
    /// Creates a job that was submitted at `submit`; `line` is the line of its submission.
    pub(super) fn new(submit: Instant, line: u64, notes: Vec<Finding>) -> Self {
        Self {
            submit,
            line,
            attempts: Vec::new(),
            running: None,
            latest: submit,
            procs: None,
            cpu_time: None,
            peak_memory: None,
            requested_memory: None,
            notes,
        }
    }

    /// Applies an event and returns the final status of the job if the event ended it.
    pub(super) fn apply(&mut self, event: &CondorEvent<'_>) -> Option<TraceStatus> {
        let now = self.monotonic_time(event.time);
        self.measure(event);
        match event.code {
            // HTCondor may write an event twice.
            event::EXECUTES if self.running == Some(now) => {}
            event::EXECUTES => {
                self.stop(now, TraceAttemptEnd::Lost);
                self.running = Some(now);
            }
            event::UNSUSPENDED => self.running = self.running.or(Some(now)),
            event::SUSPENDED => self.stop(now, TraceAttemptEnd::Suspended),
            event::CHECKPOINTED if self.running.is_some() => {
                self.stop(now, TraceAttemptEnd::Checkpointed);
                self.running = Some(now);
            }
            event::EVICTED => self.vacate(now, eviction_end(event)),
            event::SHADOW_EXCEPTION | event::RECONNECT_FAILED => {
                self.vacate(now, TraceAttemptEnd::Lost)
            }
            event::HELD => self.vacate(now, TraceAttemptEnd::Held),
            event::TERMINATED => {
                self.stop(now, TraceAttemptEnd::Finished);
                return Some(exit(event));
            }
            event::ABORTED => {
                self.stop(now, TraceAttemptEnd::Removed);
                return Some(TraceStatus::Cancelled);
            }
            _ => {}
        }
        None
    }

    /// Returns the record of the job.
    ///
    /// # Errors
    /// If the job terminated, and nothing tells how long it ran.
    pub(super) fn into_record(
        mut self,
        id: CondorJobId,
        status: TraceStatus,
        keep: ColumnSelection,
    ) -> Result<ParsedRecord<'static>, Finding> {
        let (number, process) = id;
        if process > 0 {
            self.notes.push(Finding::SharedNumber);
        }
        let mut notes = std::mem::take(&mut self.notes);
        let runtime = self.runtime(status, &mut notes)?;
        let usage = keep.usage(|| TraceUsage {
            held: None,
            wait: self
                .attempts
                .first()
                .and_then(|first| wait_time(self.submit, first.start, &mut notes)),
            cpu_time: self.cpu_time,
            peak_memory: self.peak_memory,
            requested_memory: self.requested_memory,
            status,
        });
        Ok(ParsedRecord {
            number,
            key: None,
            submit: self.submit,
            runtime,
            estimate: None,
            allocated: self.procs,
            requested: None,
            names: RecordNames::default(),
            usage,
            attempts: Some(self.attempts),
            notes,
        })
    }

    /// Returns how long the job ran since it last lost its work. The execution of a job that terminated
    /// may be missing in the log, because HTCondor does not guarantee that event: then its processor
    /// time tells.
    fn runtime(&self, status: TraceStatus, notes: &mut Vec<Finding>) -> Result<Span, Finding> {
        if let Some((last, before)) = self.attempts.split_last() {
            let kept = before.iter().rev().take_while(|one| one.ended.keeps_work());
            return Ok(kept.fold(last.span(), |sum, attempt| sum + attempt.span()));
        }
        if status == TraceStatus::Cancelled {
            return Ok(NEVER_RAN);
        }
        let used = self.cpu_time.ok_or(Finding::Missing(RecordField::Start))?;
        notes.push(Finding::CpuTimeAsRunTime);
        let each = used.as_micros() / i64::from(self.procs.unwrap_or(1));
        Ok(Span::from_micros(each).min(self.latest.since(self.submit)))
    }

    /// Returns the time of an event, which is not before the previous event.
    fn monotonic_time(&mut self, time: Instant) -> Instant {
        if time < self.latest {
            self.notes.push(Finding::TimeWentBack);
        }
        self.latest = self.latest.max(time);
        self.latest
    }

    fn stop(&mut self, end: Instant, ended: TraceAttemptEnd) {
        if let Some(start) = self.running.take() {
            self.attempts.push(TraceAttempt { start, end, ended });
        }
    }

    /// Ends the attempt with the reason `ended`, since the job left its computer. If the job was
    /// suspended there, `ended` replaces the reason of its last attempt.
    fn vacate(&mut self, end: Instant, ended: TraceAttemptEnd) {
        let was_running = self.running.is_some();
        self.stop(end, ended);
        if let Some(last) = self.attempts.last_mut()
            && !was_running
            && last.ended == TraceAttemptEnd::Suspended
        {
            last.ended = ended;
        }
    }

    fn measure(&mut self, event: &CondorEvent<'_>) {
        if ![event::TERMINATED, event::EVICTED, event::IMAGE_SIZE].contains(&event.code) {
            return;
        }
        for line in event.lines() {
            if let Some(usage) = line.strip_suffix(b"-  Total Remote Usage") {
                self.cpu_time = usage_times(usage).or(self.cpu_time);
            } else if let Some(size) = line.strip_suffix(b"-  ResidentSetSize of job (KB)") {
                self.peak(size, KIBI);
            } else if let Some(size) = line.strip_suffix(b"-  MemoryUsage of job (MB)") {
                self.peak(size, MEBI);
            } else if let Some((b"Cpus", row)) = resource(line) {
                let count = row.last().map(|text| parse_field::procs(text));
                self.procs = count.and_then(Result::ok).flatten().or(self.procs);
            } else if let Some((b"Memory (MB)", row)) = resource(line) {
                let requested = row.len().checked_sub(2).map(|at| row[at]);
                let requested = requested.and_then(|text| memory(text, MEBI));
                self.requested_memory = requested.or(self.requested_memory);
                if let [used, _, _] = row[..] {
                    self.peak(used, MEBI);
                }
            }
        }
    }

    fn peak(&mut self, text: &[u8], unit: u64) {
        let used = memory(text.trim_ascii(), unit).filter(|&used| used > Bytes::ZERO);
        self.peak_memory = self.peak_memory.max(used);
    }
}

/// Parses from the first line, between parentheses, whether the work was saved.
fn eviction_end(event: &CondorEvent<'_>) -> TraceAttemptEnd {
    match event
        .lines()
        .any(|line| line.starts_with(b"(1) Job was checkpointed"))
    {
        true => TraceAttemptEnd::Checkpointed,
        false => TraceAttemptEnd::Evicted,
    }
}

fn exit(event: &CondorEvent<'_>) -> TraceStatus {
    for line in event.lines() {
        if line.starts_with(b"(0) Abnormal termination") {
            return TraceStatus::Failed;
        }
        if let Some(value) = line.strip_prefix(b"(1) Normal termination (return value ") {
            return match value.starts_with(b"0)") {
                true => TraceStatus::Completed,
                false => TraceStatus::Failed,
            };
        }
    }
    TraceStatus::Unknown
}

/// Parses the sum of `Usr 0 00:00:06, Sys 0 00:00:01`: days and times of day.
fn usage_times(text: &[u8]) -> Option<Span> {
    let text = std::str::from_utf8(text).ok()?;
    let (user, system) = text.split_once(',')?;
    let span = |text: &str, name| {
        let time = text.trim().strip_prefix(name)?.trim().replace(' ', "-");
        parse_time::span(time.as_bytes(), RecordField::CpuTime).ok()
    };
    Some(span(user, "Usr")? + span(system, "Sys")?)
}

/// Parses the name and the values of a row of the table of resources: used (which may be missing),
/// requested, allocated.
fn resource(line: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let at = memchr::memchr(b':', line)?;
    let figures = line[at + 1..].split(u8::is_ascii_whitespace);
    let figures = figures.filter(|figure| !figure.is_empty());
    Some((line[..at].trim_ascii(), figures.collect()))
}

fn memory(text: &[u8], unit: u64) -> Option<Bytes> {
    parse_field::bytes(text, unit, RecordField::PeakMemory)
        .ok()
        .flatten()
}
