//! The answer about every class.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tollgate_forecast::{Belief, ClassBehaviour, ClassId, ClassSummary, Forecast, Forecaster};
use tollgate_model::{Bytes, Distribution, Instant};
use tollgate_site_forecast::calendar::format_iso;
use tollgate_site_forecast::{ConfidenceLevel, ForecastState, StatedClass};

use super::args::ForecastArgs;
use super::parse::{format_percent, format_span};
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, FigureLayout, render_figures};

/// A class in the output. JSON objects become `key=value;key=value` in CSV.
#[derive(Serialize)]
pub(super) struct ClassRow {
    /// The rule of the class, as text.
    class: String,
    jobs: u64,
    behaviour: &'static str,
    /// Whether the jobs of the class are predictable at all.
    predictable: bool,
    /// The basis of the forecast, as text.
    known_from: String,
    /// The number of modes before the present mode.
    mode: u32,
    mode_since: Option<String>,
    mode_since_s: f64,
    median_s: f64,
    /// The factor by which half of the recent medians missed.
    usual_factor: f64,
    point_s: f64,
    quantiles_s: BTreeMap<String, f64>,
    leader: &'static str,
    leader_votes: f64,
    /// The number of statements at each level. `kept` is the fraction of them that held.
    promises: BTreeMap<String, u64>,
    kept: BTreeMap<String, f64>,
    cpu_point_s: Option<f64>,
    cpu_quantiles_s: Option<BTreeMap<String, f64>>,
    memory_point_bytes: Option<f64>,
    memory_quantiles_bytes: Option<BTreeMap<String, f64>>,
}

/// The whole output.
#[derive(Serialize)]
struct ClassesAnswer<'a> {
    by: Vec<String>,
    jobs: u64,
    levels: Vec<f64>,
    classes: &'a [ClassRow],
}

const MEBI: f64 = 1_048_576.0;

pub(super) fn run(
    state: &ForecastState,
    args: &ForecastArgs,
    verbosity: Verbosity,
) -> Result<(), CliFailure> {
    let rows = rows(state, &args.levels);
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        OutputFormat::Table => out.write_all(render_table(&rows, &args.levels).as_bytes())?,
        OutputFormat::Json => {
            let answer = ClassesAnswer {
                by: state.names.keys().iter().map(ToString::to_string).collect(),
                jobs: state.jobs,
                levels: args
                    .levels
                    .iter()
                    .map(|l| l.probability().as_f64())
                    .collect(),
                classes: &rows,
            };
            serde_json::to_writer_pretty(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &rows)?,
    }
    out.flush()?;
    let hopeless = rows.iter().filter(|row| !row.predictable).count();
    if hopeless > 0 {
        verbosity.note(format_args!(
            "{hopeless} of {} classes cannot be predicted: half of their forecasts are off by more \
             than a factor of three; only their bounds mean anything",
            rows.len()
        ));
    }
    Ok(())
}

/// Returns the classes with the most jobs first. Ties are broken by name.
fn rows(state: &ForecastState, levels: &[ConfidenceLevel]) -> Vec<ClassRow> {
    let mut rows: Vec<ClassRow> = state
        .runtime
        .classes()
        .flat_map(|class| {
            let parts = state.runtime.summaries(class);
            let values: Vec<Option<u32>> = parts.iter().map(|(summary, _)| summary.part).collect();
            let parts = parts.into_iter().filter(|(summary, _)| summary.jobs > 0);
            parts.map(move |(summary, _)| {
                let stated = state.statements.of(&summary, &values);
                let belief = state.belief(&summary.last_job);
                row(state, &summary, (&belief, &stated), levels)
            })
        })
        .collect();
    rows.sort_by(|a, b| b.jobs.cmp(&a.jobs).then_with(|| a.class.cmp(&b.class)));
    rows
}

fn row(
    state: &ForecastState,
    summary: &ClassSummary,
    (belief, stated): (&Belief, &StatedClass),
    levels: &[ConfidenceLevel],
) -> ClassRow {
    let class = summary.last_job.class;
    let resource = |forecaster: &Forecaster, unit: f64| {
        let forecast = part_forecast(forecaster, class, summary)?;
        let point = forecast.point_beside_distribution().as_secs_f64() * unit;
        Some((point, quantiles(&forecast.distribution(), levels, unit)))
    };
    let (cpu_point_s, cpu_quantiles_s) = resource(&state.cpu_time, 1.0).unzip();
    let (memory_point_bytes, memory_quantiles_bytes) = resource(&state.memory, MEBI).unzip();
    let judged = levels
        .iter()
        .filter_map(|level| Some((level, stated.due_and_kept(*level)?)));
    let judged: Vec<(&ConfidenceLevel, (u64, u64))> = judged.collect();
    ClassRow {
        class: state.names.rule(class, summary.split, summary.part),
        jobs: summary.jobs,
        behaviour: stated.behaviour.key(),
        predictable: stated.behaviour != ClassBehaviour::Unpredictable,
        known_from: belief.basis.to_string(),
        mode: summary.mode,
        mode_since: state.has_calendar.then(|| format_iso(summary.since)),
        mode_since_s: summary.since.as_secs_f64(),
        median_s: summary.median.as_secs_f64(),
        usual_factor: stated.usual_factor,
        point_s: belief.distribution.median().as_secs_f64(),
        quantiles_s: quantiles(&belief.distribution, levels, 1.0),
        leader: summary.leader.key(),
        leader_votes: summary.votes,
        promises: judged
            .iter()
            .map(|(level, (due, _))| (level.to_string(), *due))
            .collect(),
        kept: judged
            .iter()
            .filter(|(_, (due, _))| *due > 0)
            .map(|(level, (due, kept))| (level.to_string(), *kept as f64 / *due as f64))
            .collect(),
        cpu_point_s,
        cpu_quantiles_s,
        memory_point_bytes,
        memory_quantiles_bytes,
    }
}

/// Returns the forecast of another resource for the same part of a class. If the class is not split
/// in the same way there, the forecast is that of the class.
fn part_forecast(forecaster: &Forecaster, class: ClassId, like: &ClassSummary) -> Option<Forecast> {
    let parts = forecaster.summaries(class);
    let same = |(summary, _): &&(ClassSummary, Forecast)| {
        summary.split == like.split && summary.part == like.part
    };
    let found = parts.iter().find(same).or_else(|| parts.first());
    found.map(|(_, forecast)| forecast.clone())
}

fn quantiles(
    distribution: &Distribution,
    levels: &[ConfidenceLevel],
    unit: f64,
) -> BTreeMap<String, f64> {
    let quantile =
        |level: &ConfidenceLevel| distribution.quantile(level.probability()).as_secs_f64();
    let each = levels
        .iter()
        .map(|level| (level.to_string(), quantile(level) * unit));
    each.collect()
}

fn render_table(rows: &[ClassRow], levels: &[ConfidenceLevel]) -> String {
    let secs = |secs: f64| format_span(tollgate_model::Span::from_secs_f64(secs));
    let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let last = levels.last().map(String::as_str).unwrap_or_default();
    let bound = |quantiles: &Option<BTreeMap<String, f64>>| {
        let quantiles = quantiles.as_ref()?;
        quantiles.get(last).copied()
    };
    let mut columns = vec![
        Column::new("class", |row: &ClassRow| row.class.clone()),
        Column::figure("jobs", |row: &ClassRow| row.jobs.to_string()),
        Column::new("behaves", |row: &ClassRow| row.behaviour.to_owned()),
        Column::new("mode since", render_since),
        Column::figure("next", |row: &ClassRow| secs(row.point_s)),
    ];
    columns.extend(levels.iter().map(|level| {
        Column::figure(format!("at most ({level})"), |row: &ClassRow| {
            secs(row.quantiles_s[level])
        })
    }));
    columns.push(Column::new("led by", |row: &ClassRow| {
        row.leader.to_owned()
    }));
    columns.extend(levels.iter().map(|level| {
        Column::optional_figure(format!("kept ({level})"), |row: &ClassRow| {
            row.kept.get(level).map(|kept| format_percent(*kept))
        })
    }));
    if rows.iter().any(|row| row.cpu_point_s.is_some()) {
        let heading = format!("processor time ({last})");
        columns.push(Column::optional_figure(heading, |row: &ClassRow| {
            bound(&row.cpu_quantiles_s).map(secs)
        }));
    }
    if rows.iter().any(|row| row.memory_point_bytes.is_some()) {
        let heading = format!("memory ({last})");
        columns.push(Column::optional_figure(heading, |row: &ClassRow| {
            bound(&row.memory_quantiles_bytes).map(|bytes| Bytes::new(bytes as u64).in_unit())
        }));
    }
    render_figures(&columns, rows, FigureLayout::Open)
}

/// Formats the beginning of the present mode, as a date or as a day counted from the first job.
fn render_since(row: &ClassRow) -> String {
    let began = match &row.mode_since {
        Some(date) => date.chars().take(10).collect(),
        None => format!("day {:.1}", row.mode_since_s / 86_400.0),
    };
    match row.mode {
        0 => format!("{began} (the first)"),
        earlier => format!("{began} (after {earlier})"),
    }
}

/// Formats an instant for other outputs.
pub(super) fn render_instant(state: &ForecastState, at: Instant) -> String {
    if state.has_calendar {
        format_iso(at)
    } else {
        format!("{} s after the record began", at)
    }
}
