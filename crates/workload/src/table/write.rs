//! Writing a job table.

use std::fmt::Display;
use std::io::{self, Write};

use super::header::Column;
use crate::trace::{Trace, TraceSla};
use crate::usage::{Status, Usage};

/// Writes `trace` as a job table: the five columns that every job has, then names, SLAs, usage
/// and unknown columns as far as the trace holds any. Reading it back gives the same jobs.
///
/// # Errors
/// Those of the writer.
pub fn write(trace: &Trace, writer: impl Write) -> io::Result<()> {
    let mut table = Writer::new(writer);
    table.begin(trace, |column| {
        is_held(trace, column) && is_known(trace, column)
    })?;
    table.write(trace)?;
    table.finish()?;
    Ok(())
}

/// Writes traces as a job table, a batch of rows at a time: the five columns that every job has,
/// then names, SLAs, usage and unknown columns as far as the first batch has a place for them: a
/// later one may have the values. The estimate of a job that has none is left empty.
pub struct Writer<W: Write> {
    csv: csv::Writer<W>,
    /// None before the first batch.
    columns: Option<Vec<Column>>,
    /// The cell that is being put together.
    cell: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer to `out`; it is buffered here.
    pub fn new(out: W) -> Self {
        Self {
            csv: csv::Writer::from_writer(out),
            columns: None,
            cell: Vec::new(),
        }
    }

    /// Writes the rows of `batch`, and the header before those of the first.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, batch: &Trace) -> io::Result<()> {
        if self.columns.is_none() {
            self.begin(batch, |column| is_held(batch, column))?;
        }
        for row in 0..batch.jobs.len() {
            let whole = Row::of(batch, row);
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

    /// Writes whatever is still held back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> io::Result<W> {
        self.csv.into_inner().map_err(|error| error.into_error())
    }

    /// Settles the columns, and writes the header.
    fn begin(&mut self, trace: &Trace, is_wanted: impl Fn(Column) -> bool) -> io::Result<()> {
        let columns = Column::ALL.into_iter().filter(|&column| is_wanted(column));
        for column in self.columns.insert(columns.collect()) {
            self.csv.write_field(column.name())?;
        }
        for name in trace.extra.iter().flat_map(|extra| extra.names()) {
            self.csv.write_field(name)?;
        }
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }
}

/// Whether `trace` can have values in `column`.
pub(super) const fn is_held(trace: &Trace, column: Column) -> bool {
    match column {
        Column::JobId | Column::Submit | Column::Runtime | Column::Procs | Column::Estimate => true,
        Column::User
        | Column::Group
        | Column::Account
        | Column::Executable
        | Column::Queue
        | Column::Wait
        | Column::CpuTime
        | Column::PeakMemory
        | Column::RequestedMemory
        | Column::Status => trace.metadata.is_some(),
        Column::Deadline | Column::Budget | Column::Penalty => trace.slas.is_some(),
    }
}

/// Whether a job of `trace` has a value in `column`, where few formats have any.
fn is_known(trace: &Trace, column: Column) -> bool {
    match column {
        Column::Account
        | Column::Wait
        | Column::CpuTime
        | Column::PeakMemory
        | Column::RequestedMemory
        | Column::Status => (0..trace.jobs.len()).any(|row| {
            let mut cell = Vec::new();
            // Memory takes everything.
            Row::of(trace, row).put(column, &mut cell).is_ok() && !cell.is_empty()
        }),
        Column::JobId
        | Column::Submit
        | Column::Runtime
        | Column::Procs
        | Column::Estimate
        | Column::User
        | Column::Group
        | Column::Executable
        | Column::Queue
        | Column::Deadline
        | Column::Budget
        | Column::Penalty => true,
    }
}

/// A job with everything that is known of it.
struct Row<'a> {
    trace: &'a Trace,
    row: usize,
    sla: TraceSla,
    usage: Usage,
}

impl<'a> Row<'a> {
    fn of(trace: &'a Trace, row: usize) -> Self {
        let slas = trace.slas.as_ref();
        Self {
            trace,
            row,
            sla: slas.map(|slas| slas[row]).unwrap_or_default(),
            usage: trace.usage(row),
        }
    }

    fn put(&self, column: Column, cell: &mut Vec<u8>) -> io::Result<()> {
        let Self {
            trace,
            row,
            sla,
            usage,
        } = self;
        let job = &trace.jobs[*row];
        let names = trace.metadata.as_ref();
        match column {
            Column::JobId => write!(cell, "{}", job.number),
            Column::Submit => write!(cell, "{}", job.submit),
            Column::Runtime => write!(cell, "{}", job.runtime),
            Column::Procs => write!(cell, "{}", job.procs),
            Column::Estimate => known(cell, trace.has_estimate(*row).then_some(job.estimate)),
            Column::User => known(cell, names.and_then(|names| names.user.get(*row))),
            Column::Group => known(cell, names.and_then(|names| names.group.get(*row))),
            Column::Account => known(cell, names.and_then(|names| names.account.get(*row))),
            Column::Executable => known(cell, names.and_then(|names| names.executable.get(*row))),
            Column::Queue => known(cell, names.and_then(|names| names.queue.get(*row))),
            Column::Deadline => known(cell, sla.deadline),
            Column::Budget => known(cell, sla.budget),
            Column::Penalty => known(cell, sla.penalty),
            Column::Wait => known(cell, usage.wait),
            Column::CpuTime => known(cell, usage.cpu_time),
            Column::PeakMemory => known(cell, usage.peak_memory),
            Column::RequestedMemory => known(cell, usage.requested_memory),
            Column::Status => known(
                cell,
                Some(usage.status).filter(|&status| status != Status::Unknown),
            ),
        }
    }
}

/// The value as text, nothing if it is not known.
fn known(cell: &mut Vec<u8>, value: Option<impl Display>) -> io::Result<()> {
    value.map_or(Ok(()), |value| write!(cell, "{value}"))
}
