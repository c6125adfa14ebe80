//! Slurm's records as `sacct --json` prints them.
//!
//! The shape depends on the version of Slurm's data parser. A number may be plain or state whether it is set,
//! and a state may be one word or a list. Every shape is read. The jobs are under the key `jobs`; steps are
//! part of their job. Limits are in minutes, requested memory in mebibytes, used memory in bytes; instants
//! are Unix seconds.
//!
//! - A job's number is its `job_id`; each task of an array has its own.
//! - Run time: `time.elapsed`, which leaves suspensions out, else from `start` to `end`.

use std::io::BufRead;

use memchr::memmem;
use serde::Deserialize;
use tollgate_model::{Bytes, Instant, Span};

use super::{state, without_start};
use crate::error::ReadError;
use crate::finding::Finding;
use crate::json::{self, Lenient, LenientNumber, LenientTexts};
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::record_reader::{self, NEVER_RAN, ParsedRecord};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

/// The key of the list of jobs.
const JOBS: &str = "jobs";

const SECONDS_PER_MINUTE: f64 = 60.0;
const MEBI: u64 = 1 << 20;

/// Reads every record of `reader`; records that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no record was a job.
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
    let mut latest = Instant::ZERO;
    json::for_each_record(reader, Some(JOBS), |line, record| {
        if let Err(finding) = record.and_then(|record| {
            let mut notes = Vec::new();
            let job: SacctJob = json::parse_record(record, &mut notes)?;
            let draft = job.to_record(options.columns, notes)?;
            sink.before_job(&mut trace);
            record_reader::push(&mut trace, draft, line, &mut latest);
            Ok(())
        }) {
            trace.diagnostics.record(finding, line);
        }
        sink.after_line(&mut trace);
    })
    .map_err(|(line, error)| ReadError::Io { line, error })?;
    sink.finish(trace)
}

/// Returns whether `start`, the beginning of a file, is that of an object with a list of jobs, or
/// of the object that `sacct` writes around the list.
pub(crate) fn matches_format(start: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(start, key).is_some();
    start.trim_ascii_start().starts_with(b"{") && (has(b"\"jobs\"") || has(b"\"data_parser\""))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctJob {
    job_id: LenientNumber,
    name: LenientTexts,
    user: LenientTexts,
    group: LenientTexts,
    account: LenientTexts,
    partition: LenientTexts,
    association: Lenient<SacctAssociation>,
    state: Lenient<SacctState>,
    time: Lenient<SacctTime>,
    required: Lenient<SacctRequired>,
    nodes: LenientTexts,
    tres: Lenient<SacctTres>,
    steps: Lenient<Vec<Lenient<SacctStep>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctAssociation {
    user: LenientTexts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctState {
    current: LenientTexts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctTime {
    submission: LenientNumber,
    eligible: LenientNumber,
    start: LenientNumber,
    end: LenientNumber,
    elapsed: LenientNumber,
    limit: LenientNumber,
    total: Lenient<SacctSpan>,
}

/// A span of processor time in two numbers.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctSpan {
    seconds: LenientNumber,
    microseconds: LenientNumber,
}

impl SacctSpan {
    fn span(&self) -> Option<Span> {
        let micros = self.microseconds.0.unwrap_or(0.0);
        Some(Span::from_secs_f64(self.seconds.0? + micros / 1e6))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctRequired {
    #[serde(rename = "CPUs")]
    cpus: LenientNumber,
}

/// Trackable resources, of jobs and of steps.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctTres {
    allocated: SacctResources,
    /// A list in a job; in a step an object, which is not read.
    requested: SacctResources,
    consumed: Lenient<SacctConsumed>,
}

type SacctResources = Lenient<Vec<Lenient<SacctResource>>>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctConsumed {
    total: SacctResources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctResource {
    #[serde(rename = "type")]
    kind: LenientTexts,
    count: LenientNumber,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SacctStep {
    tres: Lenient<SacctTres>,
    time: Lenient<SacctTime>,
}

impl SacctJob {
    fn to_record(
        &self,
        keep: ColumnSelection,
        mut notes: Vec<Finding>,
    ) -> Result<ParsedRecord<'_>, Finding> {
        let number = self
            .job_id
            .text()
            .ok_or(Finding::Missing(RecordField::JobNumber))?;
        let has_end = self.time.end.positive().is_some();
        let status = match self.state.current.first() {
            "" => None,
            state => Some(state::status_of_ended(
                state.as_bytes(),
                has_end,
                &mut notes,
            )?),
        };
        let submit = self.time.submission.positive();
        let submit = submit.ok_or(Finding::Missing(RecordField::Submit))?;
        let submit = instant(submit, RecordField::Submit)?;
        let eligible = self.time.eligible.positive();
        let eligible = eligible.and_then(|at| instant(at, RecordField::Held).ok());
        let (runtime, start) = match self.is_cancelled_while_pending(status) {
            true => (NEVER_RAN, None),
            false => self.times(status, &mut notes)?,
        };
        let user = match self.user.first() {
            "" => self.association.user.first(),
            user => user,
        };
        let mut count = |count| parse_field::usable(procs(count), RecordField::Procs, &mut notes);
        let allocated = count(count_of(&self.tres.allocated, "cpu"));
        let requested = count(self.required.cpus);
        Ok(ParsedRecord {
            number: parse_field::job_number(number.as_bytes())?,
            key: None,
            submit,
            runtime,
            estimate: parse_field::usable(self.limit(), RecordField::Estimate, &mut notes),
            allocated,
            requested,
            names: RecordNames {
                user: user.as_bytes(),
                group: self.group.first().as_bytes(),
                account: self.account.first().as_bytes(),
                executable: self.name.first().as_bytes().into(),
                queue: self.partition.first().as_bytes(),
            },
            usage: keep.usage(|| TraceUsage {
                wait: start.and_then(|start| record_reader::wait_time(submit, start, &mut notes)),
                held: eligible.map(|eligible| eligible.since(submit)),
                cpu_time: self.cpu_time(),
                peak_memory: self.peak_memory(),
                requested_memory: bytes(count_of(&self.tres.requested, "mem"), MEBI),
                status: status.unwrap_or_default(),
            }),
            attempts: None,
            notes,
        })
    }

    /// Returns whether the job never started: some versions then write the time at which it was
    /// cancelled as its start.
    fn is_cancelled_while_pending(&self, status: Option<TraceStatus>) -> bool {
        status == Some(TraceStatus::Cancelled)
            && self.nodes.first() == "None assigned"
            && self.time.start == self.time.end
    }

    /// Returns the run time and the start. A start that is out of range, or missing, is needed only where
    /// nothing else has the run time.
    fn times(
        &self,
        status: Option<TraceStatus>,
        notes: &mut Vec<Finding>,
    ) -> Result<(Span, Option<Instant>), Finding> {
        let elapsed = self.time.elapsed.text();
        let elapsed = elapsed.map(|text| parse_field::span(text.as_bytes(), RecordField::RunTime));
        let elapsed = elapsed
            .and_then(Result::ok)
            .filter(|&elapsed| elapsed >= Span::ZERO);
        let Some(start) = self.time.start.positive() else {
            let has_start = self.time.start.text().is_some();
            return without_start(elapsed, has_start, status).map(|runtime| (runtime, None));
        };
        let start = instant(start, RecordField::Start);
        if let Some(elapsed) = elapsed {
            let start = parse_field::usable(start.map(Some), RecordField::Start, notes);
            return Ok((elapsed, start));
        }
        let start = start?;
        let end = self.time.end.positive().ok_or(Finding::NotEnded)?;
        let end = instant(end, RecordField::End)?;
        Ok((record_reader::run_time(start, end, notes), Some(start)))
    }

    fn limit(&self) -> Result<Option<Span>, Finding> {
        let Some(minutes) = self.time.limit.positive() else {
            return Ok(None);
        };
        let limit = Span::from_secs_f64(minutes * SECONDS_PER_MINUTE);
        parse_field::in_range(limit.as_micros(), RecordField::Estimate).map(Some)
    }

    /// Returns the processor time of the job, else that of its steps: some versions of Slurm write 0 for
    /// the job.
    fn cpu_time(&self) -> Option<Span> {
        let own = self.time.total.span();
        if own.is_some_and(|time| time > Span::ZERO) {
            return own;
        }
        let of_steps = self.steps.iter().filter_map(|step| step.time.total.span());
        let of_steps = of_steps.fold(Span::ZERO, |sum, time| sum + time);
        (of_steps > Span::ZERO).then_some(of_steps).or(own)
    }

    /// Returns the peak memory of the largest step.
    fn peak_memory(&self) -> Option<Bytes> {
        let steps = self.steps.iter();
        let used = steps.filter_map(|step| bytes(count_of(&step.tres.consumed.total, "mem"), 1));
        used.max()
    }
}

fn instant(seconds: f64, field: RecordField) -> Result<Instant, Finding> {
    parse_time::unix_seconds(seconds.to_string().as_bytes(), field)
}

fn count_of(resources: &[Lenient<SacctResource>], kind: &str) -> LenientNumber {
    let found = resources
        .iter()
        .find(|resource| resource.kind.first() == kind);
    found.map_or(LenientNumber(None), |resource| resource.count)
}

fn procs(count: LenientNumber) -> Result<Option<u32>, Finding> {
    let text = count.text().map(|text| parse_field::procs(text.as_bytes()));
    Ok(text.transpose()?.flatten())
}

/// Converts a number to bytes. Slurm writes -2 or the like for an unknown value.
fn bytes(count: LenientNumber, unit: u64) -> Option<Bytes> {
    let count = count.positive()?;
    Some(Bytes::new((count * unit as f64).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One job in the shape of data parsers up to 0.0.39, and the same job in the later shape.
    const OLD: &str = r#"{"meta": {"Slurm": {}}, "errors": [], "jobs": [
        {"account": "physics", "job_id": 7, "name": "a.out", "user": "ann", "group": "staff",
         "partition": "long", "state": {"current": "TIMEOUT", "reason": "None"},
         "time": {"elapsed": 60, "end": 220, "start": 160, "submission": 100, "limit": 30,
                  "total": {"seconds": 59, "microseconds": 500000}},
         "required": {"CPUs": 4, "memory": 2},
         "tres": {"allocated": [{"type": "cpu", "id": 1, "count": 4}],
                  "requested": [{"type": "mem", "id": 2, "count": 1000}]},
         "steps": [{"tres": {"requested": {"max": []},
                             "consumed": {"total": [{"type": "mem", "count": 4096}]}}}]},
        {"job_id": 8, "state": {"current": "RUNNING"}, "time": {"submission": 101}},
        {"job_id": 9, "state": {"current": "CANCELLED"}, "time": {"submission": 102, "start": 0}},
        {"job_id": {"set": false}}, {"job_id": 10, "steps": 5}]}"#;
    const NEW: &str = r#"{"jobs": [
        {"account": "physics", "job_id": 7, "name": "a.out", "user": "", "group": "staff",
         "association": {"user": "ann"}, "partition": "long",
         "state": {"current": ["TIMEOUT", "X"], "reason": "None"},
         "time": {"elapsed": 60, "end": {"set": true, "infinite": false, "number": 220},
                  "start": {"set": true, "infinite": false, "number": 160}, "submission": 100,
                  "limit": {"set": true, "infinite": false, "number": 30},
                  "total": {"seconds": 59, "microseconds": 500000}},
         "required": {"CPUs": 4, "memory_per_cpu": {"set": false, "number": 0}},
         "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 4}],
                  "requested": [{"type": "mem", "name": "", "id": 2, "count": 1000}]},
         "steps": [{"tres": {"consumed": {"total": [{"type": "mem", "count": 4096}]}}}]}],
        "warnings": []}"#;

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn both_json_shapes_give_the_same_job() {
        let (old, new) = (parsed(OLD), parsed(NEW));
        assert!(matches_format(OLD.as_bytes()) && matches_format(NEW.as_bytes()));
        assert_eq!(old.jobs[0], new.jobs[0]);
        let job = old.jobs[0];
        assert_eq!((job.number, job.procs), (7, 4));
        assert_eq!(job.estimate, Span::from_secs(1800));
        let (old, new) = (old.metadata.unwrap(), new.metadata.unwrap());
        assert_eq!(old.usage.get(0).unwrap(), new.usage.get(0).unwrap());
        assert_eq!(
            old.usage.get(0).unwrap(),
            TraceUsage {
                wait: Some(Span::from_secs(60)),
                held: None,
                cpu_time: Some(Span::from_micros(59_500_000)),
                peak_memory: Some(Bytes::new(4096)),
                requested_memory: Some(Bytes::new(1000 << 20)),
                status: TraceStatus::TimedOut,
            }
        );
        assert_eq!(
            (old.user.get(0), new.user.get(0)),
            (Some("ann"), Some("ann"))
        );
    }

    #[test]
    fn non_job_records_are_counted() {
        let trace = parsed(OLD);
        assert_eq!(trace.jobs[1].runtime, NEVER_RAN);
        for finding in [
            Finding::NotEnded,
            Finding::Missing(RecordField::JobNumber),
            Finding::Missing(RecordField::Submit),
        ] {
            assert_eq!(trace.diagnostics.count(finding), 1, "{}", trace.diagnostics);
        }
        let cut = parsed(&OLD[..OLD.len() - 60]);
        assert_eq!(cut.jobs, trace.jobs);
    }
}
