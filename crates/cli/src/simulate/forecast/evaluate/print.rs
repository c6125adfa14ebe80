//! The output of an evaluation in the requested format.

use std::io::{self, BufWriter, Write};

use tollgate_forecast::evaluate::methods_to_read;
use tollgate_forecast::{ForecastEvaluation, ForecastMethod, MethodScore, ScoredForecast};
use tollgate_model::distribution::LEVELS;
use tollgate_site_forecast::EvaluationPair;
use tollgate_site_forecast::evaluation::TOLERANCE;

use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The indices of the levels that tables show: 0.90 and 0.95.
const SHOWN_LEVELS: [usize; 2] = [9, 10];

pub(super) fn write_answer(
    evaluated: &EvaluationPair,
    format: OutputFormat,
) -> Result<(), CliFailure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        OutputFormat::Table => out.write_all(render_text(evaluated).as_bytes())?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &evaluated.to_json())
                .map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &evaluated.method_rows())?,
    }
    Ok(out.flush()?)
}

fn render_text(evaluated: &EvaluationPair) -> String {
    let mut text = String::new();
    for (setting, evaluation) in evaluated.settings() {
        let words = match setting {
            "one_step" => "One step: as if each job ended before the next one is submitted",
            _ => "Causal: only what had ended by then is known",
        };
        let series = evaluation.classes.len();
        text += &format!(
            "{words}\n{} series of at least {} jobs, {} jobs; bounds over all {} jobs\n\n",
            series,
            evaluated.min_jobs,
            evaluation.aggregate.score.jobs,
            evaluation.aggregate.levels[0].jobs()
        );
        text += &render_table(evaluation);
        for level in SHOWN_LEVELS {
            if let Some(within) =
                evaluation.classes_within(ScoredForecast::Beliefs, level, TOLERANCE)
            {
                text += &format!(
                    "{} is kept within 4 points in {:.0} % of the series\n",
                    LEVELS[level].as_f64(),
                    100.0 * within
                );
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A method with its score in all series. None instead of the method is what is stated, or the class forecast.
struct MethodRow<'a> {
    name: &'static str,
    outcome: &'a MethodScore,
    method: Option<ForecastMethod>,
}

fn render_table(evaluation: &ForecastEvaluation) -> String {
    let row = |name, outcome| MethodRow {
        name,
        outcome,
        method: None,
    };
    let mut rows = vec![
        row("stated", &evaluation.aggregate),
        row("class forecast", &evaluation.class_forecast),
    ];
    rows.extend(methods_to_read().map(|method| MethodRow {
        name: method.key(),
        outcome: evaluation.method(method),
        method: Some(method),
    }));
    let pct = |part: f64, decimals: usize| format!("{:.decimals$} %", 100.0 * part);
    let mut columns = vec![
        Column::new("method", |row: &MethodRow<'_>| row.name.to_owned()),
        Column::optional_figure("median error", |row: &MethodRow<'_>| {
            let error = row.outcome.score.mdape_pct;
            error.map(|error| format!("{error:.1} %"))
        }),
        Column::optional_figure("mean |ln|", |row: &MethodRow<'_>| {
            let error = row.outcome.score.mean_abs_ln;
            error.map(|error| format!("{error:.3}"))
        }),
        Column::optional_figure("stated beats it in", |row: &MethodRow<'_>| {
            let better = evaluation.classes_better_than(ScoredForecast::Beliefs, row.method?);
            better.map(|part| pct(part, 0))
        }),
    ];
    for level in SHOWN_LEVELS {
        let shown = LEVELS[level].as_f64();
        columns.push(Column::optional_figure(
            format!("kept ({shown})"),
            move |row: &MethodRow<'_>| {
                let coverage = row.outcome.levels[level].coverage();
                coverage.map(|part| pct(part, 1))
            },
        ));
        columns.push(Column::optional_figure(
            format!("bound/run ({shown})"),
            move |row: &MethodRow<'_>| {
                let ratio = row.outcome.levels[level].bound_ratio();
                ratio.map(|ratio| format!("{ratio:.2}"))
            },
        ));
        columns.push(Column::optional_figure(
            format!("pinball ({shown})"),
            move |row: &MethodRow<'_>| {
                let pinball = row.outcome.levels[level].pinball();
                pinball.map(|pinball| format!("{pinball:.3}"))
            },
        ));
    }
    render_figures(&columns, &rows, FigureLayout::Open)
}
