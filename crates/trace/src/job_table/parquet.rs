//! Writer for a job table as Parquet.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use strum::VariantArray;
use tollgate_model::{Bytes, Instant, Span};

use super::header::JobTableColumn;
use super::write::can_hold;
use crate::name_column::NameColumn;
use crate::trace::{Trace, TraceJob};
use crate::trace_metadata::TraceMetadata;
use crate::usage::{TraceStatus, TraceUsage};

/// A writer of traces as Parquet, a batch of rows at a time, each as a row group: the columns of
/// the job table under the same names. Times are seconds and money is credits, as doubles;
/// identifiers, processors and bytes are integers, names are text. Unknown values are null.
pub struct ParquetWriter<W: Write + Send>(ParquetState<W>);

enum ParquetState<W: Write + Send> {
    /// The output before the first batch, which takes it.
    Waiting(Option<W>),
    Open(Box<SerializedFileWriter<W>>, Vec<JobTableColumn>),
}

/// The values of a column in a batch; None for unknown values.
pub(super) enum ParquetCells {
    Reals(Vec<Option<f64>>),
    Wholes(Vec<Option<i64>>),
    Texts(Vec<Option<ByteArray>>),
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a writer to `out`, which should be buffered.
    pub const fn new(out: W) -> Self {
        Self(ParquetState::Waiting(Some(out)))
    }

    /// Writes the rows of `batch`; the first batch determines the columns.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, batch: &Trace) -> io::Result<()> {
        if let ParquetState::Waiting(out) = &mut self.0 {
            let out = out
                .take()
                .ok_or_else(|| io::Error::other("has failed before"))?;
            self.0 = begin(out, batch).map_err(io_error)?;
        }
        self.row_group(batch).map_err(io_error)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            ParquetState::Waiting(out) => out.ok_or_else(|| io::Error::other("has failed before")),
            ParquetState::Open(file, _) => file.into_inner().map_err(io_error),
        }
    }

    fn row_group(&mut self, batch: &Trace) -> Result<()> {
        let ParquetState::Open(file, columns) = &mut self.0 else {
            return Err(ParquetError::General("has failed before".to_owned()));
        };
        let mut group = file.next_row_group()?;
        let known = columns.iter().map(|&column| cells(batch, column));
        for cells in known.chain(extra_cells(batch)) {
            let column = group.next_column()?;
            cells.put(column.expect("as many columns as the schema has"))?;
        }
        group.close()?;
        Ok(())
    }
}

fn begin<W: Write + Send>(out: W, batch: &Trace) -> Result<ParquetState<W>> {
    let held = |column: &JobTableColumn| can_hold(batch, *column);
    let columns: Vec<JobTableColumn> = JobTableColumn::VARIANTS
        .iter()
        .copied()
        .filter(held)
        .collect();
    let extra = batch.extra.iter().flat_map(|extra| extra.names());
    let fields = columns
        .iter()
        .map(|&column| cells(batch, column).field(column.name()))
        .chain(extra.map(|name| ParquetCells::Texts(Vec::new()).field(name)))
        .collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("job")
        .with_fields(fields)
        .build()?;
    let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::default())?;
    Ok(ParquetState::Open(Box::new(file), columns))
}

/// Returns the cells of `batch` in `column`.
fn cells(batch: &Trace, column: JobTableColumn) -> ParquetCells {
    let jobs = || batch.jobs.iter();
    let usages = || (0..batch.jobs.len()).map(|row| batch.usage(row));
    let slas = || batch.slas.iter().flatten();
    let spans = |of: fn(TraceUsage) -> Option<Span>| seconds(usages().map(of));
    let bytes = |of: fn(TraceUsage) -> Option<Bytes>| {
        let cells = usages().map(|usage| of(usage).map(|bytes| bytes.as_u64().cast_signed()));
        ParquetCells::Wholes(cells.collect())
    };
    let names = |of: fn(&TraceMetadata) -> &NameColumn| {
        let labels = batch.metadata.as_ref().map(of);
        let rows = 0..batch.jobs.len();
        ParquetCells::Texts(
            rows.map(|row| labels?.get(row).map(ByteArray::from))
                .collect(),
        )
    };
    match column {
        JobTableColumn::JobId => {
            ParquetCells::Wholes(jobs().map(|job| Some(job.number.cast_signed())).collect())
        }
        JobTableColumn::Submit => {
            let submits = jobs().map(|job| Some(job.submit.since(Instant::ZERO)));
            seconds(submits)
        }
        JobTableColumn::Runtime => seconds(jobs().map(|job| Some(job.runtime))),
        JobTableColumn::Procs => {
            ParquetCells::Wholes(jobs().map(|job| Some(job.procs.into())).collect())
        }
        JobTableColumn::Estimate => {
            let known =
                |(row, job): (usize, &TraceJob)| batch.has_estimate(row).then_some(job.estimate);
            seconds(jobs().enumerate().map(known))
        }
        JobTableColumn::User => names(|names| &names.user),
        JobTableColumn::Group => names(|names| &names.group),
        JobTableColumn::Account => names(|names| &names.account),
        JobTableColumn::Executable => names(|names| &names.executable),
        JobTableColumn::Queue => names(|names| &names.queue),
        JobTableColumn::Deadline => seconds(slas().map(|sla| sla.deadline)),
        JobTableColumn::Budget => {
            ParquetCells::Reals(slas().map(|sla| Some(sla.budget?.as_f64())).collect())
        }
        JobTableColumn::Penalty => {
            ParquetCells::Reals(slas().map(|sla| Some(sla.penalty?.as_f64())).collect())
        }
        JobTableColumn::Wait => spans(|usage| usage.wait),
        JobTableColumn::Held => spans(|usage| usage.held),
        JobTableColumn::CpuTime => spans(|usage| usage.cpu_time),
        JobTableColumn::PeakMemory => bytes(|usage| usage.peak_memory),
        JobTableColumn::RequestedMemory => bytes(|usage| usage.requested_memory),
        JobTableColumn::Status => {
            let known = usages()
                .map(|usage| Some(usage.status).filter(|&status| status != TraceStatus::Unknown));
            ParquetCells::Texts(
                known
                    .map(|status| Some(ByteArray::from(status?.key())))
                    .collect(),
            )
        }
    }
}

fn seconds(spans: impl Iterator<Item = Option<Span>>) -> ParquetCells {
    ParquetCells::Reals(spans.map(|span| span.map(Span::as_secs_f64)).collect())
}

/// Returns the columns that tollgate does not know; an empty cell is null, as in the table.
fn extra_cells(batch: &Trace) -> impl Iterator<Item = ParquetCells> {
    let extra = batch.extra.iter();
    extra.flat_map(move |extra| {
        (0..extra.names().len()).map(move |place| {
            let rows = 0..batch.jobs.len();
            let cell = |row| extra.row(row).nth(place).filter(|cell| !cell.is_empty());
            ParquetCells::Texts(rows.map(|row| cell(row).map(ByteArray::from)).collect())
        })
    })
}

impl ParquetCells {
    pub(super) fn field(&self, name: &str) -> Result<Arc<Type>> {
        let (physical, logical) = match self {
            Self::Reals(_) => (PhysicalType::DOUBLE, None),
            Self::Wholes(_) => (PhysicalType::INT64, None),
            Self::Texts(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }

    pub(super) fn put(self, mut column: SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Self::Reals(cells) => {
                let (levels, values) = split_nulls(cells);
                let typed = column.typed::<DoubleType>();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            Self::Wholes(cells) => {
                let (levels, values) = split_nulls(cells);
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            Self::Texts(cells) => {
                let (levels, values) = split_nulls(cells);
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&values, Some(&levels), None)?;
            }
        }
        column.close()
    }
}

/// Returns for each cell whether it is known, and the known values.
fn split_nulls<T>(cells: Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
    let levels = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    (levels, cells.into_iter().flatten().collect())
}

/// Returns the error of the output, if the output failed.
pub(super) fn io_error(error: ParquetError) -> io::Error {
    let ParquetError::External(error) = error else {
        return io::Error::other(error);
    };
    match error.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error),
    }
}
