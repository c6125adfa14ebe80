//! Records: files, tables of any library, or the default workload.
//!
//! A table becomes the text of a job table, which the reader of the program reads. So a column means the same, and is
//! checked by the same rules, whether it comes from a file or from memory.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, IntervalUnit, Schema, TimeUnit};
use pyo3::prelude::*;
use tollgate_model::{Instant, Span};
use tollgate_replay::default_record;
use tollgate_trace::{ColumnSelection, OpenError, ReadOptions, Trace, job_table, open};

use crate::arrow_input::take_batches;
use crate::errors::{ErrorClass, argument, unreadable};
use crate::interrupt;
use crate::record_columns::{COMMENTS, MAX_NODES, MAX_PROCS, SOURCE, UNIX_START, record_batch};
use crate::table::Table;

/// The name of a table in messages.
const TABLE: &str = "the table";

const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// A source of jobs.
pub(crate) enum RecordSource {
    /// The workload of `tollgate replay` without a file.
    Default,
    /// A file or a directory.
    File(PathBuf),
    /// A table, read.
    Read(Box<Trace>),
}

impl RecordSource {
    /// Takes a path, a table with `__arrow_c_stream__`, or nothing.
    ///
    /// # Errors
    /// If the object is neither, or the table has no usable row.
    pub(crate) fn of(source: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(source) = source.filter(|source| !source.is_none()) else {
            return Ok(Self::Default);
        };
        if source.hasattr("__arrow_c_stream__")? {
            let (schema, batches) = take_batches(source)?;
            let trace = source.py().detach(|| read_table(&schema, &batches))?;
            return Ok(Self::Read(Box::new(trace)));
        }
        match source.extract::<PathBuf>() {
            Ok(path) => Ok(Self::File(path)),
            Err(_) => Err(argument(
                "jobs",
                format_args!(
                    "expected a path, or a table with `__arrow_c_stream__` (pyarrow, pandas, polars, duckdb), got {}",
                    source.get_type().name()?
                ),
            )),
        }
    }

    /// Reads the record.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn read(self) -> Result<Trace, OpenError> {
        match self {
            Self::Default => Ok(default_record()),
            Self::File(path) => open(&path, OPTIONS),
            Self::Read(trace) => Ok(*trace),
        }
    }
}

/// Reads the jobs of a record.
#[pyfunction]
#[pyo3(signature = (jobs = None))]
pub(crate) fn read(py: Python<'_>, jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Table> {
    let source = RecordSource::of(jobs)?;
    let work = move || source.read();
    let trace = interrupt::run(py, work, |_| Ok(()), || ())?;
    let trace = trace.map_err(|error| unreadable(&error))?;
    let batch = py.detach(|| record_batch(&trace));
    let batch = batch.map_err(|error| ErrorClass::Internal.raise(error, None))?;
    Ok(Table::of(batch))
}

/// Returns names and summaries of the policies.
#[pyfunction]
pub(crate) fn policies() -> Vec<(&'static str, &'static str)> {
    let registry = tollgate_policies::builtin_registry();
    let listed = registry.policies();
    listed
        .map(|policy| (policy.name(), policy.summary()))
        .collect()
}

/// Reads a table of jobs.
fn read_table(schema: &Schema, batches: &[RecordBatch]) -> PyResult<Trace> {
    let said = |key: &str| schema.metadata().get(key);
    let unix_start = said(UNIX_START).and_then(|seconds| seconds.parse::<f64>().ok());
    let unix_start = unix_start.map(|seconds| Instant::ZERO + Span::from_secs_f64(seconds));
    let origin = unix_start.unwrap_or(Instant::ZERO);
    let text = job_table_text(schema, batches, origin)?;
    let source = said(SOURCE).map_or(TABLE, String::as_str);
    let trace = job_table::read(source, text.as_slice(), OPTIONS).map_err(|cause| {
        unreadable(&OpenError {
            file: TABLE.to_owned(),
            cause,
        })
    })?;
    let number = |key: &str| said(key).and_then(|number| number.parse().ok());
    let comments = said(COMMENTS).map(|text| text.lines().map(str::to_owned).collect());
    Ok(Trace {
        max_procs: number(MAX_PROCS),
        max_nodes: number(MAX_NODES),
        unix_start,
        comments: comments.unwrap_or_default(),
        ..trace
    })
}

/// Writes a table as the text of a job table. Instants are those since `origin`.
fn job_table_text(schema: &Schema, batches: &[RecordBatch], origin: Instant) -> PyResult<Vec<u8>> {
    let failed = |error: &dyn std::fmt::Display| ErrorClass::Internal.raise(error, None);
    let mut csv = csv::Writer::from_writer(Vec::new());
    for field in schema.fields() {
        let name = job_table_name(field.name(), field.data_type());
        csv.write_field(name).map_err(|error| failed(&error))?;
    }
    let no_more: Option<&[u8]> = None;
    csv.write_record(no_more).map_err(|error| failed(&error))?;
    let mut cell = String::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                cell.clear();
                if !column.is_null(row) && !write_cell(&mut cell, column, row, origin) {
                    let message = format!(
                        "{TABLE}: column `{}`: values of the type {} are not understood",
                        field.name(),
                        field.data_type()
                    );
                    let hint = "drop the column, or turn its values into text or numbers";
                    return Err(ErrorClass::Record.raise(message, Some(hint)));
                }
                csv.write_field(&cell).map_err(|error| failed(&error))?;
            }
            csv.write_record(no_more).map_err(|error| failed(&error))?;
        }
    }
    csv.into_inner().map_err(|error| failed(&error))
}

/// Returns the name in a job table of a column of this type: that of instants and spans ends in `_s` there.
fn job_table_name(name: &str, data_type: &DataType) -> String {
    let is_time = matches!(
        data_type,
        DataType::Timestamp(_, _) | DataType::Duration(_) | DataType::Interval(_)
    );
    let timed = [
        "submit", "runtime", "estimate", "deadline", "wait", "cpu_time",
    ];
    match is_time && timed.contains(&name.to_ascii_lowercase().as_str()) {
        true => format!("{name}_s"),
        false => name.to_owned(),
    }
}

/// Appends a value that is not null. Returns false if its type is not understood.
fn write_cell(cell: &mut String, column: &ArrayRef, row: usize, origin: Instant) -> bool {
    use std::fmt::Write;
    // A string takes whatever is written to it.
    macro_rules! put {
        ($value:expr) => {{
            let _ = write!(cell, "{}", $value);
            true
        }};
    }
    macro_rules! number {
        ($type:ty) => {
            put!(column.as_primitive::<$type>().value(row))
        };
    }
    macro_rules! real {
        ($type:ty) => {{
            let value = column.as_primitive::<$type>().value(row);
            // Some libraries write "not a number" for a missing one.
            value.is_nan() || put!(value)
        }};
    }
    macro_rules! micros {
        ($type:ty, $of_unit:expr) => {{
            let of_unit: fn(i64) -> i64 = $of_unit;
            of_unit(column.as_primitive::<$type>().value(row))
        }};
    }
    let instant = |micros| Instant::from_micros(micros).since(origin);
    let thousand = |value: i64| value.saturating_mul(1_000);
    let million = |value: i64| value.saturating_mul(1_000_000);
    let thousandth = |value: i64| value.div_euclid(1_000);
    let same = |value: i64| value;
    match column.data_type() {
        DataType::Null => true,
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => real!(Float32Type),
        DataType::Float64 => real!(Float64Type),
        DataType::Boolean => put!(column.as_boolean().value(row)),
        DataType::Utf8 => put!(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => put!(column.as_string::<i64>().value(row)),
        DataType::Utf8View => put!(column.as_string_view().value(row)),
        DataType::Timestamp(unit, _) => put!(instant(match unit {
            TimeUnit::Second => micros!(TimestampSecondType, million),
            TimeUnit::Millisecond => micros!(TimestampMillisecondType, thousand),
            TimeUnit::Microsecond => micros!(TimestampMicrosecondType, same),
            TimeUnit::Nanosecond => micros!(TimestampNanosecondType, thousandth),
        })),
        DataType::Duration(unit) => put!(Span::from_micros(match unit {
            TimeUnit::Second => micros!(DurationSecondType, million),
            TimeUnit::Millisecond => micros!(DurationMillisecondType, thousand),
            TimeUnit::Microsecond => micros!(DurationMicrosecondType, same),
            TimeUnit::Nanosecond => micros!(DurationNanosecondType, thousandth),
        })),
        // The spans of duckdb. A month has no length of its own.
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let span = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let micros = million(i64::from(span.days) * 86_400) + thousandth(span.nanoseconds);
            span.months == 0 && put!(Span::from_micros(micros))
        }
        DataType::Dictionary(key, _) => match key.as_ref() {
            DataType::Int8 => write_word::<Int8Type>(cell, column, row, origin),
            DataType::Int16 => write_word::<Int16Type>(cell, column, row, origin),
            DataType::Int32 => write_word::<Int32Type>(cell, column, row, origin),
            DataType::Int64 => write_word::<Int64Type>(cell, column, row, origin),
            DataType::UInt8 => write_word::<UInt8Type>(cell, column, row, origin),
            DataType::UInt16 => write_word::<UInt16Type>(cell, column, row, origin),
            DataType::UInt32 => write_word::<UInt32Type>(cell, column, row, origin),
            DataType::UInt64 => write_word::<UInt64Type>(cell, column, row, origin),
            _ => false,
        },
        _ => false,
    }
}

/// Appends a value of a dictionary.
fn write_word<K: ArrowDictionaryKeyType>(
    cell: &mut String,
    column: &ArrayRef,
    row: usize,
    origin: Instant,
) -> bool {
    let dictionary = column.as_dictionary::<K>();
    let Some(key) = dictionary.key(row) else {
        return true;
    };
    let words = dictionary.values();
    words.is_null(key) || write_cell(cell, words, key, origin)
}
