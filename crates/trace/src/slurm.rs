//! Slurm's records as `sacct -P` prints them: fields between bars, `sacct(1)`.
//!
//! With a header the columns may be in any order; `JobID` (or `JobIDRaw`) and `Submit` are
//! required. Without a header, the orders of two well-known exporters are recognised by whether the
//! first record fits, and the assumption is noted.
//!
//! - A job's number is its `JobIDRaw`, else the leading number of its `JobID`, which the tasks of
//!   an array and the components of a heterogeneous job share.
//! - Steps (`123.batch`) are folded into their job; the job's own record has everything that is
//!   kept.
//! - Run time: `Elapsed`, which leaves suspensions out, else from `Start` to `End`.
//! - Estimate: `Timelimit`, unless it is `UNLIMITED` or `Partition_Limit`.
//! - Usage: `TotalCPU`, `ReqTRES` or `ReqMem`, `State`; the peak memory is that of the largest step
//!   (`TRESUsageInTot`, else `MaxRSS` times `NTasks`).
//! - Times of day have no zone and are taken as UTC: export with `TZ=UTC`.

mod columns;
pub mod events;
pub mod json;
mod state;
mod usage;

use std::io::BufRead;

use columns::{SacctColumn, SacctHeader, SacctRecord};
use memchr::memchr;
use tollgate_model::{Instant, Span};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time::{self, ZoneOrigin};
use crate::parts::{JobKey, JobPart, PartUsage};
use crate::record_field::RecordField;
use crate::record_reader::{
    self, JoinedLines, NEVER_RAN, ParsedRecord, RecordContent, RecordFormat,
};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

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
    record_reader::read(SlurmFormat::default(), sink, source, reader, options)
}

/// Returns whether `line` is a header, or a record in a known order.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    // This is called for every line of every trace until the format is known; most lines need only
    // one check.
    SacctHeader::of_header(line).is_some()
        || (memchr(b'|', line).is_some() && SacctHeader::known_order(line).is_some())
}

#[derive(Default)]
struct SlurmFormat {
    columns: Option<SacctHeader>,
    /// Findings about the whole file, to be reported with its first job.
    pending_notes: Vec<Finding>,
    zone_noted: bool,
}

impl RecordFormat for SlurmFormat {
    fn begins_record(&self, first: &[u8], line: &[u8]) -> bool {
        let columns = self.columns.as_ref();
        !columns.is_some_and(|columns| columns.continues(first, line))
    }

    fn is_whole_record(&self, line: &[u8]) -> bool {
        let columns = self.columns.as_ref();
        columns.is_some_and(|columns| columns.fits(line))
    }

    fn join(&mut self, lines: &[&[u8]]) -> JoinedLines {
        // Lines were taken only as long as the record is short.
        JoinedLines {
            text: lines.join(&b' '),
            count: lines.len(),
        }
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if let Some(header) = SacctHeader::of_header(text) {
            return match self.columns.replace(header) {
                Some(_) => Err(Finding::RepeatedHeader),
                None => Ok(RecordContent::Nothing),
            };
        }
        if self.columns.is_none() {
            self.columns = Some(SacctHeader::known_order(text).ok_or(Finding::FieldCount)?);
            self.pending_notes.push(Finding::AssumedOrder);
        }
        let columns = self.columns.as_ref().ok_or(Finding::FieldCount)?;
        let record = columns.split(text)?;
        if let Some(part) = step(&record) {
            return Ok(RecordContent::Part(part));
        }
        let (mut draft, zone) = parse_record(&record, keep)?;
        if let Some(finding) = zone.finding().filter(|_| !self.zone_noted) {
            self.zone_noted = true;
            draft.notes.push(finding);
        }
        draft.notes.append(&mut self.pending_notes);
        Ok(RecordContent::Job(draft))
    }
}

/// Parses a step, whose identifier is that of its job, a point and its name.
fn step(record: &SacctRecord<'_>) -> Option<JobPart> {
    let id = record
        .get(SacctColumn::JobId)
        .or(record.get(SacctColumn::JobIdRaw))?;
    let point = memchr(b'.', id)?;
    Some(JobPart {
        key: job_key(&id[..point])?,
        usage: usage::of_step(record),
        relation: PartUsage::Covered,
    })
}

/// Parses the identity of a job: `123`, `123_4` of an array, or `123+1` of a heterogeneous job.
fn job_key(id: &[u8]) -> Option<JobKey> {
    const HETEROGENEOUS: u64 = 1 << 62;
    let number = |digits| parse_field::job_number(digits).ok();
    let at = id.iter().position(|byte| !byte.is_ascii_digit());
    let (job, rest) = id.split_at(at.unwrap_or(id.len()));
    let component = match rest {
        [] => 0,
        [b'_', task @ ..] => number(task)?.checked_add(1)?,
        [b'+', offset @ ..] => HETEROGENEOUS.checked_add(number(offset)?)?,
        _ => return None,
    };
    Some(JobKey {
        number: number(job)?,
        component,
    })
}

fn parse_record<'a>(
    record: &SacctRecord<'a>,
    keep: ColumnSelection,
) -> Result<(ParsedRecord<'a>, ZoneOrigin), Finding> {
    let mut notes = Vec::new();
    let (number, key) = number(record, &mut notes)?;
    let end = instant(record, SacctColumn::End, RecordField::End)
        .ok()
        .flatten();
    let status = record
        .get(SacctColumn::State)
        .map(|state| state::status_of_ended(state, end.is_some(), &mut notes))
        .transpose()?;
    let submit = record_reader::required(record.get(SacctColumn::Submit), RecordField::Submit)?;
    let (submit, zone) = parse_time::instant(submit, RecordField::Submit)?;
    let allocated = procs(record, &ALLOCATED, SacctColumn::AllocTres, &mut notes);
    let (runtime, start) = match is_cancelled_while_pending(record, status) {
        true => (NEVER_RAN, None),
        false => times(record, end, status, &mut notes)?,
    };
    let eligible = instant(record, SacctColumn::Eligible, RecordField::Held);
    let eligible = eligible.ok().flatten();
    let name = |column| record.get(column).unwrap_or_default();
    let draft = ParsedRecord {
        number,
        key,
        submit,
        runtime,
        estimate: parse_field::usable(limit(record), RecordField::Estimate, &mut notes),
        allocated,
        requested: procs(
            record,
            &[SacctColumn::ReqCpus],
            SacctColumn::ReqTres,
            &mut notes,
        ),
        names: RecordNames {
            user: record
                .get(SacctColumn::User)
                .unwrap_or(name(SacctColumn::UserId)),
            group: name(SacctColumn::Group),
            account: name(SacctColumn::Account),
            executable: name(SacctColumn::JobName).into(),
            queue: name(SacctColumn::Partition),
        },
        usage: keep.usage(|| TraceUsage {
            wait: start.and_then(|start| record_reader::wait_time(submit, start, &mut notes)),
            held: eligible.map(|eligible| eligible.since(submit)),
            status: status.unwrap_or_default(),
            ..usage::of_job(record, &mut notes)
        }),
        attempts: None,
        notes,
    };
    Ok((draft, zone))
}

fn number(
    record: &SacctRecord<'_>,
    notes: &mut Vec<Finding>,
) -> Result<(u64, Option<JobKey>), Finding> {
    let raw = record.get(SacctColumn::JobIdRaw);
    let id = record.get(SacctColumn::JobId).or(raw);
    let id = record_reader::required(id, RecordField::JobNumber)?;
    let number = record_reader::leading_number(raw.unwrap_or(id), notes)?;
    Ok((number, job_key(id)))
}

/// The columns of the allocated processors, the first of which counts.
const ALLOCATED: [SacctColumn; 2] = [SacctColumn::AllocCpus, SacctColumn::NCpus];

/// Parses the processors in the first of `columns` that has some, else in the trackable resources.
fn procs(
    record: &SacctRecord<'_>,
    columns: &[SacctColumn],
    resources: SacctColumn,
    notes: &mut Vec<Finding>,
) -> Option<u32> {
    let counts = columns.iter().filter_map(|&column| record.get(column));
    let listed = record.get(resources).and_then(usage::cpu_of);
    counts.chain(listed).find_map(|text| {
        let count = parse_field::procs(text);
        parse_field::usable(count, RecordField::Procs, notes)
    })
}

fn instant(
    record: &SacctRecord<'_>,
    column: SacctColumn,
    field: RecordField,
) -> Result<Option<Instant>, Finding> {
    let text = record.get(column).filter(|text| !is_unknown(text));
    let read = text
        .map(|text| parse_time::instant(text, field))
        .transpose()?;
    Ok(read.map(|(instant, _)| instant))
}

/// Returns whether the job never started: older versions of `sacct` then write the time at which it
/// was cancelled as its start.
fn is_cancelled_while_pending(record: &SacctRecord<'_>, status: Option<TraceStatus>) -> bool {
    let at = |column| record.get(column);
    let has_no_host = at(SacctColumn::NodeList) == Some(b"None assigned")
        || ALLOCATED.iter().any(|&column| at(column) == Some(b"0"));
    status == Some(TraceStatus::Cancelled)
        && has_no_host
        && at(SacctColumn::Start) == at(SacctColumn::End)
}

/// Returns the run time and the start. A start that cannot be read, or was not asked for, is needed only
/// where nothing else has the run time.
fn times(
    record: &SacctRecord<'_>,
    end: Option<Instant>,
    status: Option<TraceStatus>,
    notes: &mut Vec<Finding>,
) -> Result<(Span, Option<Instant>), Finding> {
    let start = instant(record, SacctColumn::Start, RecordField::Start);
    let elapsed = elapsed(record);
    if start == Ok(None) {
        let has_start = record.get(SacctColumn::Start).is_some();
        return without_start(elapsed, has_start, status).map(|runtime| (runtime, None));
    }
    if let Some(elapsed) = elapsed {
        let start = parse_field::usable(start, RecordField::Start, notes);
        return Ok((elapsed, start));
    }
    let start = start?.ok_or(Finding::Missing(RecordField::Start))?;
    if end.is_none() {
        instant(record, SacctColumn::End, RecordField::End)?;
    }
    let end = end.ok_or(Finding::NotEnded)?;
    Ok((record_reader::run_time(start, end, notes), Some(start)))
}

/// Returns the run time of a job without a start. `has_start` is whether the record says that there was none.
fn without_start(
    elapsed: Option<Span>,
    has_start: bool,
    status: Option<TraceStatus>,
) -> Result<Span, Finding> {
    let ended = !matches!(status, None | Some(TraceStatus::Cancelled));
    match elapsed {
        Some(elapsed) if elapsed > Span::ZERO || (ended && !has_start) => Ok(elapsed),
        None if ended && !has_start => Err(Finding::Missing(RecordField::Start)),
        Some(_) | None => Ok(NEVER_RAN),
    }
}

fn elapsed(record: &SacctRecord<'_>) -> Option<Span> {
    let clock = record
        .get(SacctColumn::Elapsed)
        .map(|text| parse_time::span(text, RecordField::RunTime));
    let raw = record
        .get(SacctColumn::ElapsedRaw)
        .map(|text| parse_field::span(text, RecordField::RunTime));
    let known = [clock, raw].into_iter().flatten().filter_map(Result::ok);
    known.into_iter().find(|&elapsed| elapsed >= Span::ZERO)
}

fn is_unknown(time: &[u8]) -> bool {
    [&b"Unknown"[..], b"None", b"N/A"].contains(&time)
}

/// Parses the limit, which `TimelimitRaw` has in minutes.
fn limit(record: &SacctRecord<'_>) -> Result<Option<Span>, Finding> {
    let field = RecordField::Estimate;
    let bounded =
        |limit: &&[u8]| ![&b"UNLIMITED"[..], b"Partition_Limit", b"INVALID"].contains(limit);
    let clock = record.get(SacctColumn::Timelimit).filter(bounded);
    if let Some(limit) = clock {
        return parse_time::span(limit, field).map(Some);
    }
    let raw = record.get(SacctColumn::TimelimitRaw).filter(bounded);
    let Some(minutes) = raw.map(|text| parse_field::span(text, field)).transpose()? else {
        return Ok(None);
    };
    parse_field::in_range(minutes.as_micros().saturating_mul(60), field).map(Some)
}

#[cfg(test)]
mod tests;
