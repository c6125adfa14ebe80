//! Writer for a job table.

use std::fmt::Display;
use std::io::{self, Write};

use strum::VariantArray;

use super::header::JobTableColumn;
use crate::trace::{Trace, TraceSla};
use crate::usage::{TraceStatus, TraceUsage};

/// Writes `trace` as a job table: the five columns that every job has, then the names, SLAs, usage
/// and unknown columns that the trace holds. Reading the table gives the same jobs.
///
/// # Errors
/// The errors of the writer.
pub fn write(trace: &Trace, writer: impl Write) -> io::Result<()> {
    let mut table = JobTableWriter::new(writer);
    table.begin(trace, |column| {
        can_hold(trace, column) && has_value(trace, column)
    })?;
    table.write(trace)?;
    table.finish()?;
    Ok(())
}

/// A writer of traces as a job table, a batch of rows at a time: the five columns that every job
/// has, then names, SLAs, usage and unknown columns. The first batch determines the columns, with
/// or without values, since a later batch may have the values. The estimate of a job without one is
/// left empty.
pub struct JobTableWriter<W: Write> {
    csv: csv::Writer<W>,
    /// None before the first batch.
    columns: Option<Vec<JobTableColumn>>,
    /// The buffer of the current cell.
    cell: Vec<u8>,
}

impl<W: Write> JobTableWriter<W> {
    /// Creates a writer to `out`; it is buffered here.
    pub fn new(out: W) -> Self {
        Self {
            csv: csv::Writer::from_writer(out),
            columns: None,
            cell: Vec::new(),
        }
    }

    /// Writes the rows of `batch`, after the header if it is the first batch.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, batch: &Trace) -> io::Result<()> {
        if self.columns.is_none() {
            self.begin(batch, |column| can_hold(batch, column))?;
        }
        for row in 0..batch.jobs.len() {
            let whole = JobTableRow::of(batch, row);
            for &column in self.columns.iter().flatten() {
                self.cell.clear();
                whole.put(column, &mut self.cell)?;
                self.csv.write_field(&self.cell)?;
            }
            for cell in batch.extra.iter().flat_map(|extra| extra.row(row)) {
                self.csv.write_field(cell)?;
            }
            self.csv.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(self) -> io::Result<W> {
        self.csv.into_inner().map_err(|error| error.into_error())
    }

    /// Determines the columns, and writes the header.
    fn begin(
        &mut self,
        trace: &Trace,
        is_chosen: impl Fn(JobTableColumn) -> bool,
    ) -> io::Result<()> {
        let columns = JobTableColumn::VARIANTS.iter().copied();
        let columns = columns.filter(|&column| is_chosen(column));
        for column in self.columns.insert(columns.collect()) {
            self.csv.write_field(column.name())?;
        }
        for name in trace.extra.iter().flat_map(|extra| extra.names()) {
            self.csv.write_field(name)?;
        }
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }
}

/// Returns whether `trace` can have values in `column`.
pub(super) const fn can_hold(trace: &Trace, column: JobTableColumn) -> bool {
    match column {
        JobTableColumn::JobId
        | JobTableColumn::Submit
        | JobTableColumn::Runtime
        | JobTableColumn::Procs
        | JobTableColumn::Estimate => true,
        JobTableColumn::User
        | JobTableColumn::Group
        | JobTableColumn::Account
        | JobTableColumn::Executable
        | JobTableColumn::Queue
        | JobTableColumn::Wait
        | JobTableColumn::Held
        | JobTableColumn::CpuTime
        | JobTableColumn::PeakMemory
        | JobTableColumn::RequestedMemory
        | JobTableColumn::Status => trace.metadata.is_some(),
        JobTableColumn::Deadline | JobTableColumn::Budget | JobTableColumn::Penalty => {
            trace.slas.is_some()
        }
    }
}

/// Returns whether a job of `trace` has a value in `column`, for columns that few formats have.
fn has_value(trace: &Trace, column: JobTableColumn) -> bool {
    match column {
        JobTableColumn::Account
        | JobTableColumn::Wait
        | JobTableColumn::Held
        | JobTableColumn::CpuTime
        | JobTableColumn::PeakMemory
        | JobTableColumn::RequestedMemory
        | JobTableColumn::Status => (0..trace.jobs.len()).any(|row| {
            let mut cell = Vec::new();
            // Writing to memory never fails.
            JobTableRow::of(trace, row).put(column, &mut cell).is_ok() && !cell.is_empty()
        }),
        JobTableColumn::JobId
        | JobTableColumn::Submit
        | JobTableColumn::Runtime
        | JobTableColumn::Procs
        | JobTableColumn::Estimate
        | JobTableColumn::User
        | JobTableColumn::Group
        | JobTableColumn::Executable
        | JobTableColumn::Queue
        | JobTableColumn::Deadline
        | JobTableColumn::Budget
        | JobTableColumn::Penalty => true,
    }
}

/// A job with all its known values.
struct JobTableRow<'a> {
    trace: &'a Trace,
    row: usize,
    sla: TraceSla,
    usage: TraceUsage,
}

impl<'a> JobTableRow<'a> {
    fn of(trace: &'a Trace, row: usize) -> Self {
        let slas = trace.slas.as_ref();
        Self {
            trace,
            row,
            sla: slas.map(|slas| slas[row]).unwrap_or_default(),
            usage: trace.usage(row),
        }
    }

    fn put(&self, column: JobTableColumn, cell: &mut Vec<u8>) -> io::Result<()> {
        let Self {
            trace,
            row,
            sla,
            usage,
        } = self;
        let job = &trace.jobs[*row];
        let names = trace.metadata.as_ref();
        match column {
            JobTableColumn::JobId => write!(cell, "{}", job.number),
            JobTableColumn::Submit => write!(cell, "{}", job.submit),
            JobTableColumn::Runtime => write!(cell, "{}", job.runtime),
            JobTableColumn::Procs => write!(cell, "{}", job.procs),
            JobTableColumn::Estimate => {
                write_known(cell, trace.has_estimate(*row).then_some(job.estimate))
            }
            JobTableColumn::User => write_known(cell, names.and_then(|names| names.user.get(*row))),
            JobTableColumn::Group => {
                write_known(cell, names.and_then(|names| names.group.get(*row)))
            }
            JobTableColumn::Account => {
                write_known(cell, names.and_then(|names| names.account.get(*row)))
            }
            JobTableColumn::Executable => {
                write_known(cell, names.and_then(|names| names.executable.get(*row)))
            }
            JobTableColumn::Queue => {
                write_known(cell, names.and_then(|names| names.queue.get(*row)))
            }
            JobTableColumn::Deadline => write_known(cell, sla.deadline),
            JobTableColumn::Budget => write_known(cell, sla.budget),
            JobTableColumn::Penalty => write_known(cell, sla.penalty),
            JobTableColumn::Wait => write_known(cell, usage.wait),
            JobTableColumn::Held => write_known(cell, usage.held),
            JobTableColumn::CpuTime => write_known(cell, usage.cpu_time),
            JobTableColumn::PeakMemory => write_known(cell, usage.peak_memory),
            JobTableColumn::RequestedMemory => write_known(cell, usage.requested_memory),
            JobTableColumn::Status => write_known(
                cell,
                Some(usage.status).filter(|&status| status != TraceStatus::Unknown),
            ),
        }
    }
}

/// Writes the value as text; nothing if it is not known.
fn write_known(cell: &mut Vec<u8>, value: Option<impl Display>) -> io::Result<()> {
    value.map_or(Ok(()), |value| write!(cell, "{value}"))
}
