//! The `accounting` file of Grid Engine (SGE, OGE, Univa): fields between colons, `accounting(5)`.
//!
//! Every version has the first 42 fields. SGE and OGE end at 45; Univa ends at 54 and counts
//! milliseconds instead of seconds, which each instant shows by its size. The limit is `h_rt`, else
//! `s_rt`, of the category. Records of the tasks of a parallel job (`pe_taskid`) are folded into
//! that of the job, which has none of their usage: processor time and peak memory add up. The tasks
//! of an array share the number of the array.
//!
//! - Account: `account`, unless it is the default `sge`; then the project.
//! - Processor time: `cpu`. Peak memory: Univa's `maxrss`, else `maxvmem`, which counts address
//!   space.
//! - Requested memory: `h_vmem`, else `mem_free`, of the category, times the slots.
//! - Status: `failed` and `exit_status`; `failed` is 37 where the limit was enforced.

mod record;

use std::io::BufRead;

use record::{GridEngineRecord, is_number};
use tollgate_model::{Bytes, Instant, Span};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::memory_size;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::parts::{JobKey, JobPart, PartUsage};
use crate::record_field::RecordField;
use crate::record_reader::{self, NEVER_RAN, ParsedRecord, RecordContent, RecordFormat};
use crate::trace::Trace;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

/// Minimum of an instant in milliseconds: as seconds it would be in the year 5138, as milliseconds
/// it is in 1973.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

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
    record_reader::read(GridEngineFormat, sink, source, reader, options)
}

/// Returns whether `line` has the fields of a record, with numbers in the numeric fields.
pub(crate) fn is_record(line: &[u8]) -> bool {
    GridEngineRecord::split(line).is_ok_and(|record| {
        let numbers = [record.number, record.submit, record.start, record.end];
        numbers.into_iter().all(is_number)
    })
}

struct GridEngineFormat;

impl RecordFormat for GridEngineFormat {
    fn is_whole_record(&self, line: &[u8]) -> bool {
        record::is_whole(line)
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if text.starts_with(b"#") {
            return Ok(RecordContent::Nothing);
        }
        let record = GridEngineRecord::split(text)?;
        let number = parse_field::job_number(record.number)?;
        let key = JobKey {
            number,
            component: parse_field::job_number(record.task).unwrap_or(0),
        };
        let mut notes = Vec::new();
        if record.pe_task != b"NONE" {
            return Ok(RecordContent::Part(JobPart {
                key,
                usage: measured(&record, &mut notes),
                relation: PartUsage::Added,
            }));
        }
        let allocated = parse_field::procs(record.slots);
        let allocated = parse_field::usable(allocated, RecordField::Procs, &mut notes);
        let submit = instant(record.submit, RecordField::Submit)?;
        let runtime = runtime(&record, &mut notes)?;
        let usage = keep.usage(|| usage(&record, submit, allocated, &mut notes));
        let limit = limit(record.category);
        Ok(RecordContent::Job(ParsedRecord {
            number,
            key: Some(key),
            submit,
            runtime,
            estimate: parse_field::usable(limit, RecordField::Estimate, &mut notes),
            allocated,
            requested: None,
            names: record.names,
            usage,
            attempts: None,
            notes,
        }))
    }
}

/// Parses the run time. A start of 0 means that the job never started.
fn runtime(record: &GridEngineRecord<'_>, notes: &mut Vec<Finding>) -> Result<Span, Finding> {
    let start = instant(record.start, RecordField::Start)?;
    let end = instant(record.end, RecordField::End)?;
    if start == Instant::ZERO {
        return Ok(NEVER_RAN);
    }
    Ok(record_reader::run_time(start, end, notes))
}

fn usage(
    record: &GridEngineRecord<'_>,
    submit: Instant,
    slots: Option<u32>,
    notes: &mut Vec<Finding>,
) -> TraceUsage {
    let start = instant(record.start, RecordField::Start).unwrap_or(Instant::ZERO);
    let wait = (start > Instant::ZERO).then(|| record_reader::wait_time(submit, start, notes));
    let requested = [&b"h_vmem="[..], b"mem_free="].map(|name| request(record.category, name));
    let requested = requested.into_iter().flatten().next();
    let requested = requested.filter(|&size| !size.eq_ignore_ascii_case(b"INFINITY"));
    let requested = requested.map_or(Ok(None), |size| {
        memory_size::grid_engine(size, RecordField::RequestedMemory)
    });
    let requested = parse_field::usable(requested, RecordField::RequestedMemory, notes);
    TraceUsage {
        wait: wait.flatten(),
        requested_memory: requested.map(|size| size.times(u64::from(slots.unwrap_or(1)))),
        status: status(record, start),
        ..measured(record, notes)
    }
}

/// Parses the processor time and the peak memory, which tasks of parallel jobs have as well.
fn measured(record: &GridEngineRecord<'_>, notes: &mut Vec<Finding>) -> TraceUsage {
    let cpu_time = parse_field::known_span(record.cpu, RecordField::CpuTime);
    let peak = record.max_rss.unwrap_or(record.max_vmem);
    let peak = parse_field::bytes(peak, 1, RecordField::PeakMemory);
    TraceUsage {
        cpu_time: parse_field::usable(cpu_time, RecordField::CpuTime, notes),
        peak_memory: parse_field::usable(peak, RecordField::PeakMemory, notes)
            .filter(|&peak| peak > Bytes::ZERO),
        ..TraceUsage::default()
    }
}

/// Parses the status: `failed` is an error of Grid Engine (`sge_status(5)`), `exit_status` that of
/// the job.
fn status(record: &GridEngineRecord<'_>, start: Instant) -> TraceStatus {
    match (record.failed, record.exit_status) {
        (b"37", _) => TraceStatus::TimedOut,
        (b"0", _) if start == Instant::ZERO => TraceStatus::Unknown,
        (b"0", b"0") => TraceStatus::Completed,
        (failed, exit) if [failed, exit].iter().all(|text| is_number(text)) => TraceStatus::Failed,
        _ => TraceStatus::Unknown,
    }
}

fn instant(text: &[u8], field: RecordField) -> Result<Instant, Finding> {
    let count = parse_field::count(text, field)?;
    let unit = if count >= MILLISECONDS_FROM {
        1_000
    } else {
        1_000_000
    };
    let since_epoch = parse_field::in_range(count.saturating_mul(unit), field)?;
    Ok(Instant::ZERO + since_epoch)
}

/// Parses the limit in a category such as `-u ann -l h_rt=36000,mem_free=1G -pe mpi 4`.
fn limit(category: &[u8]) -> Result<Option<Span>, Finding> {
    [b"h_rt=", b"s_rt="]
        .into_iter()
        .find_map(|name| request(category, name))
        .filter(|limit| !limit.eq_ignore_ascii_case(b"INFINITY"))
        .map(|limit| parse_time::span(limit, RecordField::Estimate))
        .transpose()
}

/// Returns the value of `name` among the requests of a category.
fn request<'a>(category: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut requests = category.split(|byte| b" ,".contains(byte));
    requests.find_map(|request| request.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(times: &str, slots: &str, category: &str, pe_task: &str) -> String {
        let zeros = "0:".repeat(20);
        format!(
            "long:node1:staff:ann:a.out:77:sge:0:{times}:{zeros}NONE:dept:mpi:{slots}:0:1.5:2:0:\
             {category}:0:{pe_task}:9:0:0"
        )
    }

    fn content(text: &str) -> Result<RecordContent<'_>, Finding> {
        GridEngineFormat.parse(text.as_bytes(), ColumnSelection::All)
    }

    fn draft(text: &str) -> ParsedRecord<'_> {
        match content(text) {
            Ok(RecordContent::Job(job)) => job,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn seconds_and_milliseconds_give_the_same_job() {
        let category = "-u ann -l h_rt=3600,mem_free=1G -pe mpi 4";
        let sge = record("1310761621:1311095354:1311095414", "4", category, "NONE");
        let univa = record(
            "1310761621000:1311095354000:1311095414000",
            "4",
            category,
            "NONE",
        );
        let job = draft(&sge);
        assert_eq!(job.submit, Instant::from_secs(1_310_761_621));
        assert_eq!(job.runtime, Span::from_secs(60));
        assert_eq!(job.estimate, Some(Span::from_secs(3600)));
        assert_eq!((job.number, job.allocated), (77, Some(4)));
        assert_eq!(job.names.user, b"ann");
        assert_eq!(draft(&univa), job);
        assert!(is_record(sge.as_bytes()) && is_record(univa.as_bytes()));
    }

    #[test]
    fn job_that_never_started_has_no_run_time() {
        let text = record("1310761621:0:0", "1", "NONE", "NONE");
        let job = draft(&text);
        assert_eq!((job.runtime, job.estimate), (NEVER_RAN, None));
    }

    #[test]
    fn non_job_records_are_distinguished() {
        let times = "1310761621:1311095354:1311095414";
        assert_eq!(content("# Version: 6.2u5"), Ok(RecordContent::Nothing));
        assert_eq!(content("a:b:c"), Err(Finding::ShortRecord));
        let part = record(times, "1", "NONE", "1.node7");
        assert!(matches!(content(&part), Ok(RecordContent::Part(_))));
        assert_eq!(
            content(&record("now:1:2", "1", "NONE", "NONE")),
            Err(Finding::NotANumber(RecordField::Submit))
        );
    }

    #[test]
    fn unreadable_optional_fields_do_not_lose_the_job() {
        let text = record(
            "1310761621:1311095354:1311095414",
            "many",
            "-l h_rt=soon",
            "NONE",
        );
        let job = draft(&text);
        assert_eq!((job.allocated, job.estimate), (None, None));
        let unusable = [RecordField::Procs, RecordField::Estimate].map(Finding::Unusable);
        assert_eq!(job.notes, unusable);
    }
}
