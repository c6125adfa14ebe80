//! Accounting records of PBS and Torque: `date time;type;id;name=value name=value ..`.
//!
//! Only `E` records (end of a job) are jobs; records of earlier events are ignored. A line that
//! does not begin with a date continues the line before it. The two are joined by a blank if the
//! line begins with the name of an attribute, and without a blank otherwise, because exporters wrap
//! within words.
//!
//! - Submission is `ctime`, else `qtime`; run time is from `start` to `end`.
//! - Processors: the slots in `exec_host`, or `resources_used.ncpus` if that is more; else the
//!   requested processors, `Resource_List.nodes`, or `Resource_List.ncpus` if that is more.
//! - Estimate: `Resource_List.walltime`. Account: `account`, else `project`.
//! - Usage: `resources_used.cput` and `.mem`, `Resource_List.mem`, `Exit_status`.
//! - The tasks of an array share the number of the array.

use std::io::BufRead;

use tollgate_model::{Instant, Span};

use crate::diagnostics::{Finding, RecordField};
use crate::error::ReadError;
use crate::memory_size;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::record_reader::{self, NEVER_RAN, ParsedRecord, RecordFormat};
use crate::trace::{RecordNames, Trace};
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

/// The beginning of a record, with `0` for any digit.
const DATE: &[u8] = b"00/00/0000 00:00:00;";

/// The beginnings of attributes at which a wrapped line may begin.
const ATTRIBUTES: [&[u8]; 16] = [
    b"Exit_status=",
    b"Resource_List.",
    b"account=",
    b"ctime=",
    b"end=",
    b"etime=",
    b"exec_host=",
    b"exec_vnode=",
    b"group=",
    b"jobname=",
    b"owner=",
    b"qtime=",
    b"queue=",
    b"resources_used.",
    b"session=",
    b"start=",
];

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
    record_reader::read(PbsFormat, outlet, source, reader, options)
}

/// Returns whether `line` begins with the date and time of a record.
pub(crate) fn begins_record(line: &[u8]) -> bool {
    line.len() >= DATE.len()
        && line.iter().zip(DATE).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

struct PbsFormat;

impl RecordFormat for PbsFormat {
    fn begins_record(&self, line: &[u8]) -> bool {
        begins_record(line)
    }

    fn join(&self, record: &mut Vec<u8>, line: &[u8]) {
        if ATTRIBUTES.iter().any(|name| line.starts_with(name)) {
            record.push(b' ');
        }
        record.extend_from_slice(line);
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<Option<ParsedRecord<'a>>, Finding> {
        let mut parts = text.splitn(4, |&byte| byte == b';');
        let _time = parts.next();
        let mut part = || parts.next().ok_or(Finding::ShortRecord);
        if part()? != b"E" {
            return Ok(None);
        }
        let (id, attributes) = (part()?, PbsAttributes(part()?));
        parse_record(id, attributes, keep).map(Some)
    }
}

fn parse_record<'a>(
    id: &[u8],
    attributes: PbsAttributes<'a>,
    keep: ColumnSelection,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let number = record_reader::leading_number(id, &mut notes)?;
    let submit = attributes.get(b"ctime").or(attributes.get(b"qtime"));
    let submit = record_reader::required(submit, RecordField::Submit)?;
    let limit = attributes.get(b"Resource_List.walltime");
    let name = |name| attributes.get(name).unwrap_or_default();
    let submit = parse_time::unix_seconds(submit, RecordField::Submit)?;
    let start = start(attributes)?;
    Ok(ParsedRecord {
        number,
        submit,
        runtime: runtime(start, attributes, &mut notes)?,
        estimate: limit
            .map(|limit| parse_time::span(limit, RecordField::Estimate))
            .transpose()?,
        allocated: allocated(attributes)?,
        requested: requested(attributes)?,
        names: RecordNames {
            user: name(b"user"),
            group: name(b"group"),
            account: attributes
                .get(b"account")
                .unwrap_or_else(|| name(b"project")),
            executable: name(b"jobname"),
            queue: name(b"queue"),
        },
        usage: keep.usage(|| usage(submit, start, attributes, &mut notes)),
        attempts: None,
        notes,
    })
}

/// Parses the start. A job that was deleted while it waited has no start, or a start of 0.
fn start(attributes: PbsAttributes<'_>) -> Result<Option<Instant>, Finding> {
    let text = attributes.get(b"start");
    let start = text
        .map(|text| parse_time::unix_seconds(text, RecordField::Start))
        .transpose()?;
    Ok(start.filter(|&start| start > Instant::ZERO))
}

fn runtime(
    start: Option<Instant>,
    attributes: PbsAttributes<'_>,
    notes: &mut Vec<Finding>,
) -> Result<Span, Finding> {
    let Some(start) = start else {
        return Ok(NEVER_RAN);
    };
    let end = record_reader::required(attributes.get(b"end"), RecordField::End)?;
    Ok(record_reader::run_time(
        start,
        parse_time::unix_seconds(end, RecordField::End)?,
        notes,
    ))
}

fn usage(
    submit: Instant,
    start: Option<Instant>,
    attributes: PbsAttributes<'_>,
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
    TraceUsage {
        peak_memory: memory(b"resources_used.mem".as_slice(), RecordField::PeakMemory),
        requested_memory: memory(
            b"Resource_List.mem".as_slice(),
            RecordField::RequestedMemory,
        ),
        wait: start.and_then(|start| record_reader::wait_time(submit, start, notes)),
        cpu_time,
        status: status(attributes),
    }
}

/// Parses the status. Torque and PBS number their kill reasons differently, from -1 downwards; PBS
/// is recognised by its `exec_vnode`.
fn status(attributes: PbsAttributes<'_>) -> TraceStatus {
    let is_pbs = attributes.get(b"exec_vnode").is_some();
    match (attributes.get(b"Exit_status"), is_pbs) {
        (None, _) => TraceStatus::Unknown,
        (Some(b"0"), _) => TraceStatus::Completed,
        (Some(b"-29"), true) | (Some(b"-11"), false) => TraceStatus::TimedOut,
        (Some(b"-26" | b"-27"), true) | (Some(b"-10"), false) => TraceStatus::OutOfMemory,
        (Some(_), _) => TraceStatus::Failed,
    }
}

fn allocated(attributes: PbsAttributes<'_>) -> Result<Option<u32>, Finding> {
    let used = procs(attributes, b"resources_used.ncpus")?;
    let slots = attributes.get(b"exec_host").map(slots).transpose()?;
    Ok(used.max(slots.flatten()))
}

fn requested(attributes: PbsAttributes<'_>) -> Result<Option<u32>, Finding> {
    let cpus = procs(attributes, b"Resource_List.ncpus")?;
    let nodes = attributes.get(b"Resource_List.nodes").map(node_slots);
    Ok(cpus.max(nodes.transpose()?.flatten()))
}

fn procs(attributes: PbsAttributes<'_>, name: &[u8]) -> Result<Option<u32>, Finding> {
    let count = attributes.get(name).map(parse_field::procs).transpose()?;
    Ok(count.flatten())
}

/// Counts the processors in `n33/7+n33/6` (two), `n33/0*13` (13) or `n33/0-3,7` (five).
fn slots(hosts: &[u8]) -> Result<Option<u32>, Finding> {
    sum(hosts.split(|byte| b"+,".contains(byte)).map(width))
}

/// Counts the processors in `4:ppn=8` (32) or `n33:ppn=2+1` (three).
fn node_slots(nodes: &[u8]) -> Result<Option<u32>, Finding> {
    sum(nodes.split(|&byte| byte == b'+').map(node_width))
}

fn sum(mut widths: impl Iterator<Item = Option<u32>>) -> Result<Option<u32>, Finding> {
    let sum = widths.try_fold(0u32, |sum, width| sum.checked_add(width?));
    let sum = sum.ok_or(Finding::NotANumber(RecordField::Procs))?;
    parse_field::procs(sum.to_string().as_bytes())
}

/// Returns the number of nodes (one for a name) times the processors per node.
fn node_width(nodes: &[u8]) -> Option<u32> {
    let mut parts = std::str::from_utf8(nodes).ok()?.split(':');
    let count: u32 = parts.next()?.parse().unwrap_or(1);
    let per_node = parts.find_map(|part| part.strip_prefix("ppn="));
    count.checked_mul(per_node.map_or(Ok(1), str::parse).ok()?)
}

/// Returns the processors of one slot or range of slots; the host's name may also contain a dash.
fn width(slot: &[u8]) -> Option<u32> {
    let slot = slot.rsplit(|&byte| byte == b'/').next()?;
    let slot = std::str::from_utf8(slot).ok()?;
    if let Some((_, count)) = slot.split_once('*') {
        return count.parse().ok();
    }
    let (first, last) = slot.split_once('-').unwrap_or((slot, slot));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) => last.checked_sub(first)?.checked_add(1),
        (Err(_), Ok(_) | Err(_)) | (Ok(_), Err(_)) => Some(1),
    }
}

/// `name=value` pairs between blanks.
#[derive(Clone, Copy)]
struct PbsAttributes<'a>(&'a [u8]);

impl<'a> PbsAttributes<'a> {
    fn get(self, name: &[u8]) -> Option<&'a [u8]> {
        let words = self.0.split(u8::is_ascii_whitespace);
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix(b"="));
        values.next().filter(|value| !value.is_empty())
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

    fn with(old: &str, new: &str) -> Result<Option<ParsedRecord<'static>>, Finding> {
        PbsFormat.parse(
            RECORD.replace(old, new).leak().as_bytes(),
            ColumnSelection::All,
        )
    }

    #[test]
    fn finished_job_is_read() {
        let job = with("", "").unwrap().unwrap();
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
    fn slots_are_counted_in_every_notation() {
        for (hosts, count) in [
            ("n/7+n/6", 2),
            ("n/0*13+m/0*13", 26),
            ("n/0-3,7", 5),
            ("n", 1),
        ] {
            assert_eq!(slots(hosts.as_bytes()), Ok(Some(count)), "{hosts}");
        }
        for hosts in ["n/3-1", "n/0*x", "n/0*4294967295+n/1"] {
            let wrong = Err(Finding::NotANumber(RecordField::Procs));
            assert_eq!(slots(hosts.as_bytes()), wrong, "{hosts}");
        }
    }

    #[test]
    fn nodes_are_counted_by_processors() {
        for (nodes, count) in [("4:ppn=8", 32), ("1:ppn=28:gpus=1", 28), ("n33:ppn=2+1", 3)] {
            assert_eq!(node_slots(nodes.as_bytes()), Ok(Some(count)), "{nodes}");
        }
        assert_eq!(node_slots(b"0"), Ok(None));
        assert_eq!(slots(b"n/0*0"), Ok(None));
    }

    #[test]
    fn non_job_records_are_distinguished() {
        assert_eq!(with(";E;", ";S;"), Ok(None));
        assert_eq!(with("start=160 ", "").unwrap().unwrap().runtime, NEVER_RAN);
        assert_eq!(
            with("end=220 ", ""),
            Err(Finding::Missing(RecordField::End))
        );
        assert_eq!(
            with("ctime=100 qtime=101", ""),
            Err(Finding::Missing(RecordField::Submit))
        );
        assert_eq!(
            with("=04:00:00", "=long"),
            Err(Finding::NotATime(RecordField::Estimate))
        );
        assert_eq!(
            with("6[3]", "x"),
            Err(Finding::NotANumber(RecordField::JobNumber))
        );
        assert_eq!(
            PbsFormat.parse(b"12/21/2009 15:27:00;E", ColumnSelection::All),
            Err(Finding::ShortRecord)
        );
    }
}
