//! Writing a job table.

use std::io::Write;

use super::header::Column;
use crate::trace::Trace;
use crate::usage::Status;

/// Writes `trace` as a job table: the five columns that every job has, then names, SLAs, usage
/// and unknown columns as far as the trace holds any. Reading it back gives the same jobs.
///
/// # Errors
/// Those of the writer.
pub fn write(trace: &Trace, writer: impl Write) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(writer);
    let columns = columns_of(trace);
    for column in &columns {
        csv.write_field(column.name())?;
    }
    for name in trace.extra.iter().flat_map(|extra| extra.names()) {
        csv.write_field(name)?;
    }
    csv.write_record(None::<&[u8]>)?;
    for row in 0..trace.jobs.len() {
        for &column in &columns {
            csv.write_field(cell(trace, row, column))?;
        }
        for cell in trace.extra.iter().flat_map(|extra| extra.row(row)) {
            csv.write_field(cell)?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()?;
    Ok(())
}

fn columns_of(trace: &Trace) -> Vec<Column> {
    let kept = |column| match column {
        Column::JobId | Column::Submit | Column::Runtime | Column::Procs | Column::Estimate => true,
        Column::User | Column::Group | Column::Executable | Column::Queue => {
            trace.metadata.is_some()
        }
        Column::Account
        | Column::Wait
        | Column::CpuTime
        | Column::PeakMemory
        | Column::RequestedMemory
        | Column::Status => (0..trace.jobs.len()).any(|row| !cell(trace, row, column).is_empty()),
        Column::Deadline | Column::Budget | Column::Penalty => trace.slas.is_some(),
    };
    Column::ALL
        .into_iter()
        .filter(|&column| kept(column))
        .collect()
}

fn cell(trace: &Trace, row: usize, column: Column) -> String {
    let job = &trace.jobs[row];
    let sla = trace
        .slas
        .as_ref()
        .map(|slas| slas[row])
        .unwrap_or_default();
    let names = trace.metadata.as_ref();
    let usage = names.and_then(|names| names.usage.get(row).copied());
    let usage = usage.unwrap_or_default();
    match column {
        Column::JobId => job.number.to_string(),
        Column::Submit => job.submit.to_string(),
        Column::Runtime => job.runtime.to_string(),
        Column::Procs => job.procs.to_string(),
        Column::Estimate => job.estimate.to_string(),
        Column::User => known(names.and_then(|names| names.user.get(row))),
        Column::Group => known(names.and_then(|names| names.group.get(row))),
        Column::Account => known(names.and_then(|names| names.account.get(row))),
        Column::Executable => known(names.and_then(|names| names.executable.get(row))),
        Column::Queue => known(names.and_then(|names| names.queue.get(row))),
        Column::Deadline => known(sla.deadline),
        Column::Budget => known(sla.budget),
        Column::Penalty => known(sla.penalty),
        Column::Wait => known(usage.wait),
        Column::CpuTime => known(usage.cpu_time),
        Column::PeakMemory => known(usage.peak_memory),
        Column::RequestedMemory => known(usage.requested_memory),
        Column::Status => known(Some(usage.status).filter(|&status| status != Status::Unknown)),
    }
}

/// The value as text, nothing if it is not known.
fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
