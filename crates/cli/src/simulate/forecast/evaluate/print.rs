//! The output of an evaluation in the requested format.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value, json};
use tollgate_forecast::evaluate::methods_to_read;
use tollgate_forecast::{
    ForecastEvaluation, ForecastMethod, ForecastMetrics, MethodScore, ScoreInterval, ScoredForecast,
};
use tollgate_model::distribution::{LEVELS, N_LEVELS};

use super::{EvaluationPair, PERIOD_DAYS};
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::calendar::month_name;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The maximum distance between a level and the coverage of a class at this level.
pub(super) const TOLERANCE: f64 = 0.04;
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
            serde_json::to_writer_pretty(&mut out, &object(evaluated)).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &methods(evaluated))?,
    }
    Ok(out.flush()?)
}

/// Returns `aggregate`, which is what is stated, its rival, one object per method, and `beliefs`.
fn object(evaluated: &EvaluationPair) -> Value {
    let mut all = Map::new();
    let settings = |of: &dyn Fn(&ForecastEvaluation) -> Value| json!({ "one_step": of(&evaluated.one_step), "causal": of(&evaluated.causal) });
    all.insert(
        "aggregate".to_owned(),
        settings(&|evaluation| aggregate(evaluation, evaluated)),
    );
    all.insert(
        "class_forecast".to_owned(),
        settings(&|evaluation| class_forecast(evaluation)),
    );
    for method in ForecastMethod::all() {
        all.insert(
            method.key().to_owned(),
            settings(&|evaluation| Value::Object(outcome(evaluation.method(method)))),
        );
    }
    all.insert("beliefs".to_owned(), evaluated.beliefs.to_json());
    Value::Object(all)
}

/// Returns the results of the forecaster of classes, in which all experts forecast together.
fn class_forecast(evaluation: &ForecastEvaluation) -> Value {
    let mut keys = outcome(&evaluation.class_forecast);
    let within = (0..N_LEVELS)
        .map(|level| evaluation.classes_within(ScoredForecast::Classes, level, TOLERANCE));
    keys.insert("series_within_4_points".to_owned(), by_level(within));
    let [_, brier] = &evaluation.within_request;
    keys.insert("within_request_brier".to_owned(), json!(brier.mean()));
    Value::Object(keys)
}

/// Returns the results of what is stated, with the keys that only it has.
fn aggregate(evaluation: &ForecastEvaluation, evaluated: &EvaluationPair) -> Value {
    let mut keys = outcome(&evaluation.aggregate);
    keys.insert("series".to_owned(), json!(evaluation.classes.len()));
    keys.insert(
        "fewest_jobs_of_series".to_owned(),
        json!(evaluated.min_jobs),
    );
    let [brier, _] = &evaluation.within_request;
    keys.insert("requests".to_owned(), json!(brier.jobs()));
    keys.insert("within_request_brier".to_owned(), json!(brier.mean()));
    let intervals = evaluation.intervals.as_ref();
    for (key, intervals) in [
        ("pinball_interval", intervals.map(|both| &both.pinball)),
        ("coverage_interval", intervals.map(|both| &both.coverage)),
    ] {
        keys.insert(key.to_owned(), json!(intervals.map(by_level_interval)));
    }
    let parts = evaluation.look_alikes.iter();
    let parts = parts.map(|(range, score)| (range.key(), score));
    keys.insert("by_look_alikes".to_owned(), by_part(parts));
    let parts = evaluation.batches.iter();
    let parts = parts.map(|(known, score)| (known.key(), score));
    keys.insert("by_batches_known".to_owned(), by_part(parts));
    let parts = evaluation.doubts.iter();
    let parts = parts.map(|(doubt, score)| (doubt.key(), score));
    keys.insert("by_doubt".to_owned(), by_part(parts));
    let within = (0..N_LEVELS)
        .map(|level| evaluation.classes_within(ScoredForecast::Beliefs, level, TOLERANCE));
    keys.insert("series_within_4_points".to_owned(), by_level(within));
    let better = ForecastMethod::all().map(|method| {
        let part = evaluation.classes_better_than(ScoredForecast::Beliefs, method);
        (method.key().to_owned(), json!(part))
    });
    keys.insert(
        "series_better_than".to_owned(),
        Value::Object(better.into_iter().collect()),
    );
    let classes = evaluation.classes.iter().map(|(class, figures)| {
        let mut keys = outcome(&figures.aggregate);
        keys.insert(
            "class".to_owned(),
            json!(evaluated.names.rule(*class, None, None)),
        );
        Value::Object(keys)
    });
    keys.insert("classes".to_owned(), classes.collect());
    let periods = evaluation.periods.iter().map(|(period, figures)| {
        let mut keys = outcome(&figures.aggregate);
        keys.insert("period".to_owned(), json!(period_name(evaluated, *period)));
        Value::Object(keys)
    });
    keys.insert("periods".to_owned(), periods.collect());
    Value::Object(keys)
}

/// Returns the metrics that every method has.
fn outcome(outcome: &MethodScore) -> Map<String, Value> {
    let MethodScore { score, levels } = outcome;
    let keys = json!({
        "jobs": score.jobs,
        "mdape_pct": score.mdape_pct,
        "mean_abs_ln": score.mean_abs_ln,
        "promises": levels[0].jobs(),
        "coverage": by_level(levels.iter().map(|held| held.coverage())),
        "bound_ratio": by_level(levels.iter().map(|held| held.bound_ratio())),
        "pinball": by_level(levels.iter().map(|held| held.pinball())),
        "crps": outcome.crps(),
    });
    match keys {
        Value::Object(keys) => keys,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Returns the results of some parts of the jobs.
fn by_part<'a>(parts: impl Iterator<Item = (&'static str, &'a MethodScore)>) -> Value {
    let parts = parts.map(|(key, score)| (key.to_owned(), Value::Object(outcome(score))));
    Value::Object(parts.collect())
}

/// Returns the ends of an interval at each level.
fn by_level_interval(intervals: &[ScoreInterval; N_LEVELS]) -> Value {
    let levels = LEVELS.iter().map(|level| level.as_f64().to_string());
    let ends = intervals.iter().map(|ends| json!([ends.low, ends.high]));
    Value::Object(levels.zip(ends).collect())
}

fn by_level(values: impl Iterator<Item = Option<f64>>) -> Value {
    let levels = LEVELS.iter().map(|level| level.as_f64().to_string());
    Value::Object(levels.zip(values.map(|value| json!(value))).collect())
}

/// Returns one row per method and setting, the aggregate first.
pub(super) fn methods(evaluated: &EvaluationPair) -> Vec<Value> {
    let mut rows = Vec::new();
    for (setting, evaluation) in evaluated.settings() {
        let mut row = |key: &str, of: &MethodScore, method: Option<ForecastMethod>| {
            let mut keys = Map::new();
            keys.insert("method".to_owned(), json!(key));
            keys.insert("setting".to_owned(), json!(setting));
            keys.extend(flatten_outcome(of));
            let better = method
                .and_then(|method| evaluation.classes_better_than(ScoredForecast::Beliefs, method));
            keys.insert("aggregate_better_in".to_owned(), json!(better));
            rows.push(Value::Object(keys));
        };
        row("aggregate", &evaluation.aggregate, None);
        row("class_forecast", &evaluation.class_forecast, None);
        for method in ForecastMethod::all() {
            row(method.key(), evaluation.method(method), Some(method));
        }
    }
    rows
}

/// Returns one row per class and setting.
pub(super) fn classes(evaluated: &EvaluationPair) -> Vec<Value> {
    parts(evaluated, "class", |evaluation| {
        let named = evaluation.classes.iter();
        let named = named.map(|(class, f)| (evaluated.names.rule(*class, None, None), f));
        named.collect()
    })
}

/// Returns one row per period and setting.
pub(super) fn periods(evaluated: &EvaluationPair) -> Vec<Value> {
    parts(evaluated, "period", |evaluation| {
        let named = evaluation.periods.iter();
        named
            .map(|(period, f)| (period_name(evaluated, *period), f))
            .collect()
    })
}

fn parts<'a>(
    evaluated: &'a EvaluationPair,
    key: &str,
    of: impl Fn(&'a ForecastEvaluation) -> Vec<(String, &'a ForecastMetrics)>,
) -> Vec<Value> {
    let settings = evaluated.settings().into_iter();
    let rows = settings.flat_map(|(setting, evaluation)| {
        let parts = of(evaluation).into_iter();
        parts.map(move |(name, figures)| {
            let mut keys = Map::new();
            keys.insert(key.to_owned(), json!(name));
            keys.insert("setting".to_owned(), json!(setting));
            keys.extend(flatten_outcome(&figures.aggregate));
            Value::Object(keys)
        })
    });
    rows.collect()
}

/// Flattens an outcome to one column per level.
fn flatten_outcome(outcome: &MethodScore) -> Map<String, Value> {
    let MethodScore { score, levels } = outcome;
    let mut keys = Map::new();
    keys.insert("jobs".to_owned(), json!(score.jobs));
    keys.insert("mdape_pct".to_owned(), json!(score.mdape_pct));
    keys.insert("mean_abs_ln".to_owned(), json!(score.mean_abs_ln));
    keys.insert("promises".to_owned(), json!(levels[0].jobs()));
    for (held, level) in levels.iter().zip(LEVELS) {
        let level = level.as_f64();
        keys.insert(format!("coverage_{level}"), json!(held.coverage()));
        keys.insert(format!("bound_ratio_{level}"), json!(held.bound_ratio()));
        keys.insert(format!("pinball_{level}"), json!(held.pinball()));
    }
    keys
}

/// Formats a period, as a month or as a number of thirty-day periods.
pub(super) fn period_name(evaluated: &EvaluationPair, period: i64) -> String {
    if evaluated.jobs.has_calendar {
        return month_name(period);
    }
    let first = PERIOD_DAYS * period;
    format!("days {first} to {}", first + PERIOD_DAYS)
}

impl EvaluationPair {
    /// Returns both settings with their keys.
    pub(super) fn settings(&self) -> [(&'static str, &ForecastEvaluation); 2] {
        [("one_step", &self.one_step), ("causal", &self.causal)]
    }
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
