//! The output in the requested format.

use std::io::{self, Write};

use super::input::ReplayInput;
use super::keys::{PolicyKeys, ReplayReportKeys};
use super::plan::ReplayPlan;
use super::run::PolicyAnswer;
use super::table;
use crate::args::OutputFormat;
use crate::csv_output;

/// Writes the results in the format of the plan.
pub(super) fn write_answers(
    out: &mut impl Write,
    plan: &ReplayPlan,
    input: &ReplayInput,
    answers: &[PolicyAnswer],
) -> io::Result<()> {
    match plan.format {
        OutputFormat::Table => {
            let deadlines = input.workload.deadline_counts();
            out.write_all(table::render(answers, deadlines).as_bytes())
        }
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &ReplayReportKeys::new(plan, input, answers))?;
            writeln!(out)
        }
        OutputFormat::Csv => csv(out, answers),
    }
}

fn csv(out: &mut impl Write, answers: &[PolicyAnswer]) -> io::Result<()> {
    let rows: Vec<PolicyKeys<'_>> = answers.iter().map(PolicyKeys::new).collect();
    csv_output::write(out, &rows)
}
