//! The answer as it was asked for.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::input::Input;
use super::keys::{PolicyKeys, Report};
use super::plan::Plan;
use super::run::Answer;
use super::table;
use crate::args::Format;

/// Writes the answers in the format of the plan.
pub(super) fn answers(
    out: &mut impl Write,
    plan: &Plan,
    input: &Input,
    answers: &[Answer],
) -> io::Result<()> {
    match plan.format {
        Format::Table => out.write_all(table::render(answers).as_bytes()),
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &Report::new(plan, input, answers))?;
            writeln!(out)
        }
        Format::Csv => csv(out, answers),
    }
}

/// The keys of JSON as columns. What is an object there is `key=value;key=value` here.
fn csv(out: &mut impl Write, answers: &[Answer]) -> io::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    let mut header = true;
    for answer in answers {
        let keys = keys(answer)?;
        if std::mem::take(&mut header) {
            rows.write_record(keys.keys())?;
        }
        rows.write_record(keys.values().map(cell))?;
    }
    rows.flush()
}

fn keys(answer: &Answer) -> io::Result<Map<String, Value>> {
    let keys = serde_json::to_value(PolicyKeys::new(answer))?;
    Ok(serde_json::from_value(keys)?)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(";"),
        Value::Object(keys) => {
            let pairs = keys
                .iter()
                .map(|(key, value)| format!("{key}={}", cell(value)));
            pairs.collect::<Vec<_>>().join(";")
        }
    }
}
