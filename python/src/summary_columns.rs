//! The results of each policy, as columns: the keys of `tollgate replay --format json`. Spans are durations, and their
//! names lose the unit.

use std::sync::Arc;

use arrow_array::builder::{
    DurationMicrosecondBuilder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use serde_json::{Map, Value};
use tollgate_model::Span;
use tollgate_replay::PolicyAnswer;
use tollgate_replay::keys::GroupKeys;

/// The end of the name of a key that counts seconds.
const SECONDS: &str = "_s";

/// The keys that count things.
const COUNTS: [&str; 18] = [
    "submitted",
    "accepted",
    "rejected",
    "fulfilled",
    "broken",
    "broken_by_own_run",
    "broken_by_others",
    "void",
    "unpromised",
    "unpromised_in_time",
    "unpromised_late",
    "unpromised_dropped",
    "unpromised_void",
    "no_deadline",
    "nodes",
    "promises",
    "kept",
    "points",
];

/// Returns a row for each policy, with one for each group of jobs after it if the jobs are grouped.
pub(crate) fn summary(answers: &[PolicyAnswer]) -> Result<RecordBatch, ArrowError> {
    let is_grouped = answers.iter().any(|answer| !answer.groups.is_empty());
    let rows = answers.iter().flat_map(|answer| {
        let groups = GroupKeys::of(answer);
        [GroupKeys::of_all(answer)].into_iter().chain(groups)
    });
    let rows = rows.map(|row| match serde_json::to_value(row) {
        Ok(Value::Object(mut keys)) => {
            if !is_grouped {
                keys.shift_remove("group");
            }
            keys
        }
        other => unreachable!("the results of a policy are an object: {other:?}"),
    });
    columns(&rows.collect::<Vec<_>>())
}

/// Returns rows of keys as columns: text, counts, numbers, and spans of seconds.
pub(crate) fn columns(rows: &[Map<String, Value>]) -> Result<RecordBatch, ArrowError> {
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
    if COUNTS.contains(&name) {
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
