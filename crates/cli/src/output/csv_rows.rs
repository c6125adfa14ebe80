//! Rows of CSV with the keys of JSON as columns.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

/// Writes a line of keys, and one line per row. A JSON object becomes `key=value;key=value`.
pub(crate) fn write<T: Serialize>(out: &mut impl Write, rows: &[T]) -> io::Result<()> {
    let mut written = csv::Writer::from_writer(out);
    for (place, row) in rows.iter().enumerate() {
        let keys: Map<String, Value> = serde_json::from_value(serde_json::to_value(row)?)?;
        if place == 0 {
            written.write_record(keys.keys())?;
        }
        written.write_record(keys.values().map(format_cell))?;
    }
    written.flush()
}

/// Formats a value for a cell.
pub(crate) fn format_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(values) => values.iter().map(format_cell).collect::<Vec<_>>().join(";"),
        Value::Object(keys) => {
            let pairs = keys
                .iter()
                .map(|(key, value)| format!("{key}={}", format_cell(value)));
            pairs.collect::<Vec<_>>().join(";")
        }
    }
}
