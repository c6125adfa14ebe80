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

use tollgate_model::{Instant, Span};

use memchr::memchr;

use crate::diagnostics::{Finding, RecordField};
use crate::error::ReadError;
use crate::options::{ColumnSelection as Keep, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::record_reader::{self, NEVER_RAN, ParsedRecord, RecordFormat};
use crate::trace::{RecordNames, Trace};
use crate::trace_sink::TraceSink;
use crate::usage::TraceUsage;
use columns::{SacctColumn, SacctHeader};

/// Reads every record of `reader`; records that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no record was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `outlet`.
pub(crate) fn read_to(
    outlet: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    record_reader::read(SlurmFormat::default(), outlet, source, reader, options)
}

/// Returns whether `line` is a header, or a record in a known order.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    // This is called for every line of every trace until the format is known; most lines need only
    // one check.
    memchr(b'|', line).is_some()
        && (SacctHeader::of_header(line).is_some() || SacctHeader::known_order(line).is_some())
}

#[derive(Default)]
struct SlurmFormat {
    columns: Option<SacctHeader>,
    /// The identifier of the last job.
    last: Vec<u8>,
    /// Findings about the whole file, to be reported with its first job.
    pending_notes: Vec<Finding>,
    zone_noted: bool,
}

impl RecordFormat for SlurmFormat {
    fn begins_record(&self, _line: &[u8]) -> bool {
        true
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: Keep,
    ) -> Result<Option<ParsedRecord<'a>>, Finding> {
        if let Some(header) = SacctHeader::of_header(text) {
            return match self.columns.replace(header) {
                Some(_) => Err(Finding::RepeatedHeader),
                None => Ok(None),
            };
        }
        if self.columns.is_none() {
            self.columns = Some(SacctHeader::known_order(text).ok_or(Finding::FieldCount)?);
            self.pending_notes.push(Finding::AssumedOrder);
        }
        let columns = self.columns.as_ref().ok_or(Finding::FieldCount)?;
        let record = columns.split(text)?;
        let mut draft = parse_record(&record, keep)?;
        self.last.clear();
        self.last
            .extend(record.get(SacctColumn::JobId).unwrap_or_default());
        if !self.zone_noted {
            self.zone_noted = true;
            draft.notes.push(Finding::AssumedUtc);
        }
        draft.notes.append(&mut self.pending_notes);
        Ok(Some(draft))
    }

    fn parse_part(&self, text: &[u8]) -> Option<TraceUsage> {
        let step = self.columns.as_ref()?.split(text).ok()?;
        let id = step.get(SacctColumn::JobId)?;
        let of_last = id.strip_prefix(self.last.as_slice())?.starts_with(b".");
        of_last.then(|| usage::of_step(&step))
    }
}

fn parse_record<'a>(
    record: &columns::SacctRecord<'a>,
    keep: Keep,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let number = number(record, &mut notes)?;
    let status = record
        .get(SacctColumn::State)
        .map(state::end_status)
        .transpose()?;
    let submit = record_reader::required(record.get(SacctColumn::Submit), RecordField::Submit)?;
    let submit = parse_time::instant(submit, RecordField::Submit)?;
    let start = instant(record, SacctColumn::Start, RecordField::Start)?;
    let procs = |column| record.get(column).map(parse_field::procs).transpose();
    let allocated = procs(SacctColumn::AllocCpus)?.flatten();
    let allocated = allocated.or(procs(SacctColumn::NCpus)?.flatten());
    let name = |column| record.get(column).unwrap_or_default();
    Ok(ParsedRecord {
        number,
        submit,
        runtime: runtime(record, start, &mut notes)?,
        estimate: limit(record)?,
        allocated,
        requested: procs(SacctColumn::ReqCpus)?.flatten(),
        names: RecordNames {
            user: name(SacctColumn::User),
            group: name(SacctColumn::Group),
            account: name(SacctColumn::Account),
            executable: name(SacctColumn::JobName),
            queue: name(SacctColumn::Partition),
        },
        usage: keep.usage(|| TraceUsage {
            wait: start.and_then(|start| record_reader::wait_time(submit, start, &mut notes)),
            status: status.unwrap_or_default(),
            ..usage::of_job(record, &mut notes)
        }),
        attempts: None,
        notes,
    })
}

fn number(record: &columns::SacctRecord<'_>, notes: &mut Vec<Finding>) -> Result<u64, Finding> {
    let raw = record.get(SacctColumn::JobIdRaw);
    let id = record.get(SacctColumn::JobId).or(raw);
    let id = record_reader::required(id, RecordField::JobNumber)?;
    if id.contains(&b'.') {
        return Err(Finding::PartOfJob);
    }
    match raw {
        Some(raw) => record_reader::leading_number(raw, notes),
        None => record_reader::leading_number(id, notes),
    }
}

fn instant(
    record: &columns::SacctRecord<'_>,
    column: SacctColumn,
    field: RecordField,
) -> Result<Option<Instant>, Finding> {
    let text = record.get(column).filter(|text| !is_unknown(text));
    text.map(|text| parse_time::instant(text, field))
        .transpose()
}

fn runtime(
    record: &columns::SacctRecord<'_>,
    start: Option<Instant>,
    notes: &mut Vec<Finding>,
) -> Result<Span, Finding> {
    let Some(start) = start else {
        return Ok(NEVER_RAN);
    };
    if let Some(elapsed) = record.get(SacctColumn::Elapsed) {
        return parse_time::span(elapsed, RecordField::RunTime);
    }
    let end = instant(record, SacctColumn::End, RecordField::End)?.ok_or(Finding::NotEnded)?;
    Ok(record_reader::run_time(start, end, notes))
}

fn is_unknown(time: &[u8]) -> bool {
    [&b"Unknown"[..], b"None", b"N/A"].contains(&time)
}

fn limit(record: &columns::SacctRecord<'_>) -> Result<Option<Span>, Finding> {
    let bounded =
        |limit: &&[u8]| ![&b"UNLIMITED"[..], b"Partition_Limit", b"INVALID"].contains(limit);
    let limit = record.get(SacctColumn::Timelimit).filter(bounded);
    limit
        .map(|limit| parse_time::span(limit, RecordField::Estimate))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;

    const HEADER: &str = "State|Timelimit|JobID|User|Submit|Start|End|AllocCPUS|ReqCPUS|JobName\n";
    const DAY: &str = "2016-12-22T";

    fn parsed(text: &str) -> Trace {
        let options = ReadOptions { columns: Keep::All };
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
    fn non_job_records_are_counted() {
        let start = format!("{DAY}07:01:00");
        let text = HEADER.to_owned()
            + &line("COMPLETED", "30:00", "7", &start)
            + &line("COMPLETED", "30:00", "7.batch", &start)
            + &line("RUNNING", "30:00", "8", &start)
            + &line("FOO", "30:00", "9", &start)
            + &line("FAILED", "soon", "10", &start)
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
            Finding::NotATime(RecordField::Estimate),
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
}
