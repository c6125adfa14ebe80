//! The answer as it was asked for.

use std::io::{self, Write};

use super::input::Input;
use super::keys::{PolicyKeys, Report};
use super::plan::Plan;
use super::run::Answer;
use super::table;
use crate::args::Format;
use crate::csv_rows;

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

fn csv(out: &mut impl Write, answers: &[Answer]) -> io::Result<()> {
    let rows: Vec<PolicyKeys<'_>> = answers.iter().map(PolicyKeys::new).collect();
    csv_rows::write(out, &rows)
}
