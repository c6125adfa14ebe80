//! The results of each policy, as columns: the keys of `tollgate replay --format json`. Spans are durations, and their
//! names lose the unit.

use std::sync::Arc;

use arrow_array::builder::{
    DurationMicrosecondBuilder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use serde_json::{Map, Value};
use tollgate_model::Span;
use tollgate_replay::PolicyAnswer;
use tollgate_replay::calibration::PromiseCalibration;
use tollgate_replay::keys::GroupKeys;

/// The end of the name of a key that counts seconds.
const SECONDS: &str = "_s";

/// Returns a row for each policy, with one for each group of jobs after it if the jobs are grouped.
pub(crate) fn summary(answers: &[PolicyAnswer]) -> Result<RecordBatch, ArrowError> {
    let is_grouped = answers.iter().any(|answer| !answer.groups.is_empty());
    let rows = answers.iter().flat_map(|answer| {
        let groups = GroupKeys::of(answer);
        [GroupKeys::of_all(answer)].into_iter().chain(groups)
    });
    let rows = rows.map(|row| {
        let mut keys = keys_of(serde_json::to_value(row));
        if !is_grouped {
            keys.shift_remove("group");
        }
        keys
    });
    columns(&rows.collect::<Vec<_>>())
}

/// Returns a row for each policy and bin of promised probabilities. Bins have the keys of `tollgate replay --calibration
/// --format json`.
pub(crate) fn calibration(answers: &[PolicyAnswer]) -> Result<RecordBatch, ArrowError> {
    let rows = answers.iter().flat_map(|answer| {
        let bins = answer.calibration.iter().flat_map(PromiseCalibration::keys);
        bins.map(|bin| {
            let mut row = Map::new();
            row.insert("policy".to_owned(), Value::from(answer.policy.clone()));
            row.extend(keys_of(serde_json::to_value(bin)));
            row
        })
    });
    columns(&rows.collect::<Vec<_>>())
}

/// Returns the keys of a value that is an object.
fn keys_of(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(keys)) => keys,
        other => unreachable!("the results of a policy are an object: {other:?}"),
    }
}

/// Returns rows of keys as columns: text, counts, numbers, and spans of seconds.
pub(crate) fn columns(rows: &[Map<String, Value>]) -> Result<RecordBatch, ArrowError> {
    if rows.is_empty() {
        return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
    }
    let names = rows.first().into_iter().flat_map(|row| row.keys());
    let columns = names.map(|name| {
        let values = rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null));
        let (name, column) = column(name, values);
        (name, column, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns)
}

fn column<'a>(name: &str, values: impl Iterator<Item = &'a Value> + Clone) -> (String, ArrayRef) {
    let is_text = |value: &Value| value.is_string() || value.is_object() || value.is_array();
    if values.clone().all(Value::is_i64) {
        let mut column = Int64Builder::new();
        values.for_each(|value| column.append_option(value.as_i64()));
        return (name.to_owned(), Arc::new(column.finish()));
    }
    if values.clone().any(is_text) || name == "group" {
        let mut column = StringBuilder::new();
        values.for_each(|value| column.append_option(text(value)));
        return (name.to_owned(), Arc::new(column.finish()));
    }
    let numbers = values.map(Value::as_f64);
    if let Some(short) = name.strip_suffix(SECONDS) {
        let mut column = DurationMicrosecondBuilder::new();
        numbers.for_each(|number| {
            column.append_option(number.map(|seconds| Span::from_secs_f64(seconds).as_micros()));
        });
        return (short.to_owned(), Arc::new(column.finish()));
    }
    let mut column = Float64Builder::new();
    numbers.for_each(|number| column.append_option(number));
    (name.to_owned(), Arc::new(column.finish()))
}

/// Returns a table of CSV as columns. A column of numbers alone is one of numbers.
///
/// # Errors
/// If the text is no table, or the columns do not fit together.
pub(crate) fn csv_columns(text: &[u8]) -> Result<RecordBatch, ArrowError> {
    let mut reader = csv::Reader::from_reader(text);
    let failed = |error: csv::Error| ArrowError::CsvError(error.to_string());
    let names = reader.headers().map_err(failed)?.clone();
    let records: Result<Vec<_>, _> = reader.records().collect();
    let records = records.map_err(failed)?;
    let is_number = |place: usize| {
        let mut cells = records.iter().map(|record| &record[place]);
        cells.all(|cell| cell.is_empty() || number(cell).is_some())
    };
    let numeric: Vec<bool> = (0..names.len()).map(is_number).collect();
    let rows = records.iter().map(|record| {
        let cells = names.iter().zip(record).zip(&numeric);
        let values = cells.map(|((name, cell), &is_number)| {
            let value = match (cell, is_number) {
                ("", _) => Value::Null,
                (cell, true) => number(cell).unwrap_or(Value::Null),
                (cell, false) => Value::from(cell),
            };
            (name.to_owned(), value)
        });
        values.collect()
    });
    columns(&rows.collect::<Vec<Map<String, Value>>>())
}

fn number(cell: &str) -> Option<Value> {
    let whole = cell.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| cell.parse::<f64>().ok().map(Value::from))
}

/// Formats a value as in the CSV of the program: an object is `key=value;key=value`.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(keys) => {
            let pairs = keys.iter().map(|(key, value)| format!("{key}={value}"));
            Some(pairs.collect::<Vec<_>>().join(";"))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Some(value.to_string()),
    }
}
