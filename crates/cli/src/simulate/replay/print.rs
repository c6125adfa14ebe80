//! The output in the requested format.

use std::io::{self, Write};

use tollgate_replay::keys::{GroupKeys, PolicyKeys};
use tollgate_replay::{PolicyAnswer, ReplayGrouping, ReplayInput, table, windows};
use tollgate_sim::OverrunRule;

use super::keys::ReplayReportKeys;
use super::notes;
use super::plan::ReplayPlan;
use crate::args::OutputFormat;
use crate::output::csv_rows;

/// Writes the results in the format of the plan.
pub(super) fn write_answers(
    out: &mut impl Write,
    plan: &ReplayPlan,
    input: &ReplayInput,
    answers: &[PolicyAnswer],
) -> io::Result<()> {
    match plan.format {
        OutputFormat::Table => {
            let by = match plan.settings.windows {
                Some(_) => Some("window"),
                None => plan.settings.by.map(ReplayGrouping::name),
            };
            let killed = notes::overrun_sentence(plan, input);
            let killed = killed.filter(|_| plan.settings.overrun == OverrunRule::Kill);
            out.write_all(table::render(answers, by, input.deadlines).as_bytes())?;
            out.write_all(windows::render(answers).as_bytes())?;
            killed.map_or(Ok(()), |killed| writeln!(out, "\n{killed}"))
        }
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &ReplayReportKeys::new(plan, input, answers))?;
            writeln!(out)
        }
        OutputFormat::Csv if plan.settings.splits_jobs() => csv_by_group(out, answers),
        OutputFormat::Csv => csv(out, answers),
    }
}

/// Writes a row for all jobs and one for each group under each policy.
fn csv_by_group(out: &mut impl Write, answers: &[PolicyAnswer]) -> io::Result<()> {
    let rows = answers.iter().flat_map(|answer| {
        let groups = GroupKeys::of(answer);
        [GroupKeys::of_all(answer)].into_iter().chain(groups)
    });
    csv_rows::write(out, &rows.collect::<Vec<_>>())
}

fn csv(out: &mut impl Write, answers: &[PolicyAnswer]) -> io::Result<()> {
    let rows: Vec<PolicyKeys<'_>> = answers.iter().map(PolicyKeys::new).collect();
    csv_rows::write(out, &rows)
}
