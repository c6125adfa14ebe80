//! Single values of a table: as objects of Python, and as text for people.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use jiff::Timestamp;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A value of a cell.
#[derive(Clone, Debug, PartialEq)]
enum CellValue<'a> {
    Missing,
    Text(&'a str),
    Whole(i64),
    Real(f64),
    Truth(bool),
    /// Microseconds since the Unix epoch.
    Instant(i64),
    /// Microseconds.
    Span(i64),
}

/// The types of Python that stand for instants and spans.
pub(crate) struct PythonTypes<'py> {
    py: Python<'py>,
    epoch: Bound<'py, PyAny>,
    span: Bound<'py, PyAny>,
}

impl<'py> PythonTypes<'py> {
    /// Looks the types up.
    pub(crate) fn new(py: Python<'py>) -> PyResult<Self> {
        let module = py.import("datetime")?;
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let fields = PyDict::new(py);
        fields.set_item("tzinfo", utc)?;
        Ok(Self {
            py,
            epoch: module
                .getattr("datetime")?
                .call((1970, 1, 1), Some(&fields))?,
            span: module.getattr("timedelta")?,
        })
    }

    /// Returns a span of microseconds.
    pub(crate) fn span(&self, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.span.call1((0, 0, micros))
    }
}

/// Returns a value as an object of Python; None if it is missing.
pub(crate) fn to_python<'py>(
    types: &PythonTypes<'py>,
    column: &ArrayRef,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = types.py;
    match value(column, row) {
        CellValue::Missing => Ok(py.None().into_bound(py)),
        CellValue::Text(text) => text.into_bound_py_any(py),
        CellValue::Whole(number) => number.into_bound_py_any(py),
        CellValue::Real(number) => number.into_bound_py_any(py),
        CellValue::Truth(truth) => truth.into_bound_py_any(py),
        CellValue::Instant(micros) => types.epoch.add(types.span(micros)?),
        CellValue::Span(micros) => types.span(micros),
    }
}

/// Returns a value as text; empty if it is missing.
pub(crate) fn to_text(column: &ArrayRef, row: usize) -> String {
    match value(column, row) {
        CellValue::Missing => String::new(),
        CellValue::Text(text) => text.to_owned(),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Real(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            number.to_string()
        }
        CellValue::Real(number) => format!("{number:.4}"),
        CellValue::Truth(true) => "true".to_owned(),
        CellValue::Truth(false) => "false".to_owned(),
        CellValue::Instant(micros) => instant_text(micros),
        CellValue::Span(micros) => span_text(micros),
    }
}

/// Returns the value in a row of a column of [`crate::table::Table`].
fn value(column: &ArrayRef, row: usize) -> CellValue<'_> {
    if column.is_null(row) {
        return CellValue::Missing;
    }
    match column.data_type() {
        DataType::Utf8 => CellValue::Text(column.as_string::<i32>().value(row)),
        DataType::Dictionary(_, _) => {
            let words = column.as_dictionary::<Int32Type>();
            let key = words.keys().value(row).cast_unsigned() as usize;
            CellValue::Text(words.values().as_string::<i32>().value(key))
        }
        DataType::Int64 => CellValue::Whole(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => CellValue::Real(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => CellValue::Truth(column.as_boolean().value(row)),
        DataType::Timestamp(_, _) => {
            let instants = column.as_primitive::<TimestampMicrosecondType>();
            CellValue::Instant(instants.value(row))
        }
        DataType::Duration(_) => {
            CellValue::Span(column.as_primitive::<DurationMicrosecondType>().value(row))
        }
        other => unreachable!("no column of tollgate is of the type {other}"),
    }
}

/// Formats a span: `1d 02:03:04`, with a fraction of a second where there is one.
fn span_text(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let days = match days {
        0 => String::new(),
        days => format!("{days}d "),
    };
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let fraction = match fraction {
        0 => String::new(),
        fraction => format!(".{fraction:06}").trim_end_matches('0').to_owned(),
    };
    format!("{sign}{days}{clock}{fraction}")
}

/// Formats an instant in UTC: `1998-04-24 23:03:07`.
fn instant_text(micros: i64) -> String {
    let day_micros = 86_400_000_000;
    let clock = span_text(micros.rem_euclid(day_micros));
    let midnight = Timestamp::from_microsecond(micros - micros.rem_euclid(day_micros));
    let day = midnight.map(|midnight| midnight.strftime("%Y-%m-%d").to_string());
    format!("{} {clock}", day.unwrap_or_default())
}
