//! Accounting records of PBS and Torque: `date time;type;id;name=value name=value ..`.
//!
//! Only `E` records (end of a job) are jobs; records of earlier events are ignored. A line that
//! does not begin with a date continues the line before it only where the text proves that
//! (`lines`). The record of an array is folded: its tasks have records of their own.
//!
//! - Submission is `ctime`, else `qtime`; run time is from `start` to `end`.
//! - Processors: the slots in `exec_host`, or `resources_used.ncpus` if that is more; else the
//!   requested processors, the most of `Resource_List.nodes`, `.select`, `.ncpus`, `.procs` and
//!   `.mppwidth`.
//! - Estimate: `Resource_List.walltime`. Account: `account`, else `project`.
//! - Usage: `resources_used.cput` and `.mem`, `Resource_List.mem`, `Exit_status`.
//! - The tasks of an array share the number of the array.

mod attributes;
mod lines;
mod procs;

use std::io::BufRead;

use attributes::PbsAttributes;
use lines::LineJoiner;
use tollgate_model::{Instant, Span};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::memory_size;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::record_reader::{
    self, JoinedLines, NEVER_RAN, ParsedRecord, RecordContent, RecordFormat,
};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};
pub(crate) use lines::begins_record;

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
    record_reader::read(PbsFormat::default(), sink, source, reader, options)
}

#[derive(Default)]
struct PbsFormat {
    lines: LineJoiner,
}

impl RecordFormat for PbsFormat {
    fn begins_record(&self, _first: &[u8], line: &[u8]) -> bool {
        begins_record(line)
    }

    fn is_whole_record(&self, line: &[u8]) -> bool {
        begins_record(line)
    }

    fn join(&mut self, lines: &[&[u8]]) -> JoinedLines {
        self.lines.join(lines)
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if !begins_record(text) {
            return Err(Finding::StrayLine);
        }
        let mut parts = text.splitn(4, |&byte| byte == b';');
        let _time = parts.next();
        let mut part = || parts.next().ok_or(Finding::ShortRecord);
        if part()? != b"E" {
            return Ok(RecordContent::Nothing);
        }
        let (id, attributes) = (part()?, PbsAttributes::split(part()?));
        parse_record(id, &attributes, keep).map(RecordContent::Job)
    }
}

fn parse_record<'a>(
    id: &[u8],
    attributes: &PbsAttributes<'a>,
    keep: ColumnSelection,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let number = record_reader::leading_number(id, &mut notes)?;
    if memchr::memmem::find(id, b"[]").is_some() {
        return Err(Finding::PartOfJob);
    }
    let submit = attributes.get(b"ctime").or(attributes.get(b"qtime"));
    let submit = record_reader::required(submit, RecordField::Submit)?;
    let name = |name| attributes.get(name).unwrap_or_default();
    let submit = parse_time::unix_seconds(submit, RecordField::Submit)?;
    let (runtime, start) = times(attributes, &mut notes)?;
    let limit = attributes.get(b"Resource_List.walltime");
    let limit = limit.map(|limit| parse_time::span(limit, RecordField::Estimate));
    Ok(ParsedRecord {
        number,
        key: None,
        submit,
        runtime,
        estimate: parse_field::usable(limit.transpose(), RecordField::Estimate, &mut notes),
        allocated: procs::allocated(attributes, &mut notes),
        requested: procs::requested(attributes, &mut notes),
        names: RecordNames {
            user: name(b"user"),
            group: name(b"group"),
            account: attributes
                .get(b"account")
                .unwrap_or_else(|| name(b"project")),
            executable: name(b"jobname").into(),
            queue: name(b"queue"),
        },
        usage: keep.usage(|| usage(submit, start, attributes, &mut notes)),
        attempts: None,
        notes,
    })
}

/// Parses the run time and the start. A job that was deleted while it waited has no start, or a start
/// of 0. Where the start cannot be read, the run time that was used is that of the job.
fn times(
    attributes: &PbsAttributes<'_>,
    notes: &mut Vec<Finding>,
) -> Result<(Span, Option<Instant>), Finding> {
    let instant = |name: &[u8], field| {
        let text = attributes.get(name);
        text.map(|text| parse_time::unix_seconds(text, field))
            .transpose()
    };
    let start = instant(b"start", RecordField::Start);
    let end = instant(b"end", RecordField::End);
    match (start, end) {
        (Ok(None | Some(Instant::ZERO)), _) => Ok((NEVER_RAN, None)),
        (Ok(Some(start)), Ok(Some(end))) => {
            Ok((record_reader::run_time(start, end, notes), Some(start)))
        }
        (start, end) => {
            let used = attributes.get(b"resources_used.walltime");
            let used = used.and_then(|text| parse_time::span(text, RecordField::RunTime).ok());
            let Some(used) = used else {
                start?;
                end?;
                return Err(Finding::Missing(RecordField::End));
            };
            Ok((used, parse_field::usable(start, RecordField::Start, notes)))
        }
    }
}

fn usage(
    submit: Instant,
    start: Option<Instant>,
    attributes: &PbsAttributes<'_>,
    notes: &mut Vec<Finding>,
) -> TraceUsage {
    let cpu_time = attributes.get(b"resources_used.cput");
    let cpu_time = cpu_time.map(|text| parse_time::span(text, RecordField::CpuTime));
    let cpu_time = parse_field::usable(cpu_time.transpose(), RecordField::CpuTime, notes);
    let mut memory = |name, field| {
        let read = attributes
            .get(name)
            .map(|text| memory_size::pbs(text, field));
        parse_field::usable(read.unwrap_or(Ok(None)), field, notes)
    };
    let eligible = attributes.get(b"etime");
    let eligible = eligible.and_then(|text| parse_time::unix_seconds(text, RecordField::Held).ok());
    let eligible = eligible.filter(|at| *at > Instant::ZERO);
    TraceUsage {
        peak_memory: memory(b"resources_used.mem".as_slice(), RecordField::PeakMemory),
        requested_memory: memory(
            b"Resource_List.mem".as_slice(),
            RecordField::RequestedMemory,
        ),
        wait: start.and_then(|start| record_reader::wait_time(submit, start, notes)),
        held: eligible.map(|eligible| eligible.since(submit)),
        cpu_time,
        status: status(attributes),
    }
}

/// Parses the status. Torque and PBS number their kill reasons differently, from -1 downwards; PBS
/// is recognised by its `exec_vnode`.
fn status(attributes: &PbsAttributes<'_>) -> TraceStatus {
    let is_pbs = attributes.get(b"exec_vnode").is_some();
    match (attributes.get(b"Exit_status"), is_pbs) {
        (None, _) => TraceStatus::Unknown,
        (Some(b"0"), _) => TraceStatus::Completed,
        (Some(b"-29"), true) | (Some(b"-11"), false) => TraceStatus::TimedOut,
        (Some(b"-26" | b"-27"), true) | (Some(b"-10"), false) => TraceStatus::OutOfMemory,
        (Some(_), _) => TraceStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "12/21/2009 15:27:00;E;6[3].edge;user=ann group=staff jobname=a.out \
        queue=long ctime=100 qtime=101 start=160 end=220 exec_host=n-1/7+n-1/6 \
        Resource_List.ncpus=8 Resource_List.walltime=04:00:00";

    fn parsed(text: &str) -> Trace {
        read("jobs", text.as_bytes(), ReadOptions::default()).unwrap()
    }

    fn with(old: &str, new: &str) -> Result<RecordContent<'static>, Finding> {
        PbsFormat::default().parse(
            RECORD.replace(old, new).leak().as_bytes(),
            ColumnSelection::All,
        )
    }

    #[test]
    fn finished_job_is_read() {
        let RecordContent::Job(job) = with("", "").unwrap() else {
            panic!("not a job");
        };
        assert_eq!((job.number, job.submit), (6, Instant::from_secs(100)));
        assert_eq!(job.runtime, Span::from_secs(60));
        assert_eq!(job.estimate, Some(Span::from_secs(14_400)));
        assert_eq!((job.allocated, job.requested), (Some(2), Some(8)));
        assert_eq!(job.names.queue, b"long");
        assert_eq!(job.notes, [Finding::SharedNumber]);
    }

    #[test]
    fn wrapped_lines_are_one_record() {
        let whole = parsed(RECORD);
        for (at, gap) in [(30, ""), (RECORD.find("exec_host").unwrap() - 1, " ")] {
            let (head, tail) = RECORD.split_at(at);
            let tail = tail.strip_prefix(gap).unwrap();
            let wrapped = parsed(&format!("{head}\r\n{tail}\n{RECORD}\n"));
            assert_eq!(wrapped.jobs, [whole.jobs[0], whole.jobs[0]], "{at}");
        }
    }

    #[test]
    fn non_job_records_are_distinguished() {
        assert_eq!(with(";E;", ";S;"), Ok(RecordContent::Nothing));
        assert_eq!(
            parsed(&RECORD.replace("start=160 ", "")).jobs[0].runtime,
            NEVER_RAN
        );
        assert_eq!(
            with("end=220 ", ""),
            Err(Finding::Missing(RecordField::End))
        );
        assert_eq!(
            with("ctime=100 qtime=101", ""),
            Err(Finding::Missing(RecordField::Submit))
        );
        assert_eq!(with("6[3]", "6[]"), Err(Finding::PartOfJob));
        assert_eq!(
            with("6[3]", "x"),
            Err(Finding::NotANumber(RecordField::JobNumber))
        );
        assert_eq!(
            PbsFormat::default().parse(b"12/21/2009 15:27:00;E", ColumnSelection::All),
            Err(Finding::ShortRecord)
        );
    }
}
