//! The memory and the processor time of a job in Slurm's records.

use tollgate_model::Bytes;

use super::columns::{SacctColumn, SacctRecord};
use crate::finding::Finding;
use crate::memory_size;
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::usage::TraceUsage;

/// The unit of `ReqMem` without one.
const MEBI: u64 = 1 << 20;

/// Parses the usage in the record of a job.
pub(super) fn of_job(record: &SacctRecord<'_>, notes: &mut Vec<Finding>) -> TraceUsage {
    let cpu_time = record.get(SacctColumn::TotalCpu);
    let cpu_time = cpu_time.map(|text| parse_time::span(text, RecordField::CpuTime));
    TraceUsage {
        cpu_time: parse_field::usable(cpu_time.transpose(), RecordField::CpuTime, notes),
        peak_memory: parse_field::usable(peak_memory(record), RecordField::PeakMemory, notes),
        requested_memory: parse_field::usable(
            requested(record),
            RecordField::RequestedMemory,
            notes,
        ),
        ..TraceUsage::default()
    }
}

/// Parses the usage in the record of a step: its processor time too, because some versions of Slurm
/// write that of the job as 0.
pub(super) fn of_step(record: &SacctRecord<'_>) -> TraceUsage {
    let times = [
        record.get(SacctColumn::TotalCpu),
        record.get(SacctColumn::UsageInTot).and_then(cpu_of),
    ];
    let times = times.into_iter().flatten();
    let times = times.filter_map(|text| parse_time::span(text, RecordField::CpuTime).ok());
    TraceUsage {
        cpu_time: times.max(),
        peak_memory: peak_memory(record).ok().flatten(),
        ..TraceUsage::default()
    }
}

/// Returns the sum over all tasks, or the peak of the largest task times the number of tasks.
fn peak_memory(record: &SacctRecord<'_>) -> Result<Option<Bytes>, Finding> {
    let field = RecordField::PeakMemory;
    if let Some(total) = record.get(SacctColumn::UsageInTot).and_then(memory_of) {
        return memory_size::slurm(total, 1, field);
    }
    let Some(largest) = record.get(SacctColumn::MaxRss) else {
        return Ok(None);
    };
    let tasks = record
        .get(SacctColumn::NTasks)
        .map(parse_field::procs)
        .transpose()?;
    let tasks = u64::from(tasks.flatten().unwrap_or(1));
    Ok(memory_size::slurm(largest, 1, field)?.map(|largest| largest.times(tasks)))
}

/// Parses the requested memory: the memory in the trackable resources; else `ReqMem`, by processor
/// (`c`), by node (`n`) or, in newer versions, for the whole job. An amount of 0 is no request.
fn requested(record: &SacctRecord<'_>) -> Result<Option<Bytes>, Finding> {
    let requested = requested_amount(record)?;
    Ok(requested.filter(|&amount| amount > Bytes::ZERO))
}

fn requested_amount(record: &SacctRecord<'_>) -> Result<Option<Bytes>, Finding> {
    let field = RecordField::RequestedMemory;
    if let Some(total) = record.get(SacctColumn::ReqTres).and_then(memory_of) {
        return memory_size::slurm(total, MEBI, field);
    }
    let Some(text) = record.get(SacctColumn::ReqMem) else {
        return Ok(None);
    };
    let count = |column| -> Result<u64, Finding> {
        let count = record.get(column).map(parse_field::procs).transpose()?;
        count
            .flatten()
            .map(u64::from)
            .ok_or(Finding::Missing(field))
    };
    let (text, times) = match text {
        [text @ .., b'c'] => (
            text,
            count(SacctColumn::ReqCpus)
                .or_else(|_| count(SacctColumn::NCpus))
                .or_else(|_| count(SacctColumn::AllocCpus))?,
        ),
        [text @ .., b'n'] => (text, count(SacctColumn::NNodes)?),
        text => (text, 1),
    };
    Ok(memory_size::slurm(text, MEBI, field)?.map(|size| size.times(times)))
}

/// Returns the memory in `cpu=8,mem=24000M,node=1`.
pub(super) fn memory_of(resources: &[u8]) -> Option<&[u8]> {
    resource(resources, b"mem=")
}

/// Returns the processors, or the processor time, in such a list.
pub(super) fn cpu_of(resources: &[u8]) -> Option<&[u8]> {
    resource(resources, b"cpu=")
}

fn resource<'a>(resources: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut resources = resources.split(|&byte| byte == b',');
    resources.find_map(|resource| resource.strip_prefix(name))
}
