//! `tollgate forecast evaluate --waits`: how good statements about waits would have been.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value, json};
use tollgate_forecast::wait::{
    BoundScore, PartCoverage, WAIT_LEVELS, WaitEvaluation, evaluate_waits,
};

use super::super::args::ForecastEvaluateArgs;
use super::super::verbosity;
use super::records;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The indices of .5, .9 and .95, which tables show.
const SHOWN_LEVELS: [usize; 3] = [2, 3, 4];

/// A method with its score about a quantity.
struct ScoredMethod<'a> {
    quantity: &'static str,
    method: &'static str,
    score: &'a BoundScore,
}

pub(in crate::simulate::forecast) fn run(args: &ForecastEvaluateArgs) -> Result<(), CliFailure> {
    let jobs = records::read(&args.records, verbosity(args.quiet))?;
    let evaluated = evaluate_waits(&jobs.records);
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        OutputFormat::Table => out.write_all(render_text(&evaluated).as_bytes())?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &object(&evaluated)).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => {
            let rows: Vec<Value> = methods(&evaluated).iter().map(csv_row).collect();
            crate::output::csv_rows::write(&mut out, &rows)?;
        }
    }
    Ok(out.flush()?)
}

fn methods(evaluated: &WaitEvaluation) -> [ScoredMethod<'_>; 10] {
    let row = |quantity, method, score| ScoredMethod {
        quantity,
        method,
        score,
    };
    [
        row("wait", "forest", &evaluated.wait),
        row("wait", "bmbp", &evaluated.binomial),
        row("wait", "class", &evaluated.class),
        row("wait", "estimate_plan", &evaluated.plan),
        row("wait, where planned", "forest", &evaluated.wait_of_planned),
        row("end", "forest", &evaluated.end),
        row("end", "estimate_plan", &evaluated.plan_end),
        row("end, where planned", "forest", &evaluated.end_of_planned),
        row("after an hour", "at submission", &evaluated.hour_before),
        row("after an hour", "anew", &evaluated.hour_anew),
    ]
}

fn object(evaluated: &WaitEvaluation) -> Value {
    let mut wait = score(&evaluated.wait);
    let half_widths = |idx: usize| evaluated.by_day.half_width(idx);
    wait.insert("coverage_half_width".to_owned(), by_level(half_widths));
    let parts = |name: &str, parts: Vec<(Value, &PartCoverage)>| -> Value {
        let parts = parts.into_iter();
        let parts = parts.map(|(key, part)| {
            let mut keys = Map::new();
            keys.insert(name.to_owned(), key);
            keys.extend(coverage(part));
            Value::Object(keys)
        });
        parts.collect()
    };
    let widths = evaluated.by_width.0.iter();
    let widths = widths.map(|(width, part)| (json!(width.key()), part));
    wait.insert("by_procs".to_owned(), parts("procs", widths.collect()));
    let periods = evaluated.by_period.0.iter();
    let periods = periods.map(|(nth, part)| (json!(30 * nth), part));
    wait.insert(
        "by_period".to_owned(),
        parts("first_day", periods.collect()),
    );
    let (within, worst) = evaluated.periods().unzip();
    wait.insert("periods_within_5_points".to_owned(), json!(within));
    wait.insert("worst_period_coverage".to_owned(), json!(worst));
    wait.insert(
        "median_above_600_s".to_owned(),
        Value::Object(coverage(&evaluated.long())),
    );
    json!({
        "jobs": {
            "all": evaluated.n_jobs,
            "warm_up": evaluated.n_warm_up,
            "cancelled": evaluated.n_cancelled,
            "without_a_bound": evaluated.n_unstated,
        },
        "wait": wait,
        "end": score(&evaluated.end),
        "after_1h": {
            "at_submission": score(&evaluated.hour_before),
            "anew": score(&evaluated.hour_anew),
        },
        "rivals": {
            "bmbp": score(&evaluated.binomial),
            "class": score(&evaluated.class),
            "estimate_plan": {
                "wait": score(&evaluated.plan),
                "forest_wait": score(&evaluated.wait_of_planned),
                "end": score(&evaluated.plan_end),
                "forest_end": score(&evaluated.end_of_planned),
            },
        },
    })
}

fn score(score: &BoundScore) -> Map<String, Value> {
    let pinball = |scale: usize| by_level(|idx| Some(score.pinball(idx)?[scale]));
    let keys = [
        ("jobs", json!(score.n_jobs)),
        ("coverage", by_level(|idx| score.coverage(idx))),
        ("pinball", pinball(0)),
        ("pinball_ln_min", pinball(1)),
        ("pinball_s", pinball(2)),
        ("mean_abs_ln", json!(score.mean_abs_ln())),
        ("median_bound_ratio_0.9", json!(score.median_ratio())),
    ];
    keys.map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

fn coverage(part: &PartCoverage) -> Map<String, Value> {
    let covered = |idx: usize| (part.n_jobs > 0).then(|| part.coverage(idx));
    let keys = [
        ("jobs", json!(part.n_jobs)),
        ("coverage", by_level(covered)),
    ];
    keys.map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// Returns the figures of the levels that have one.
fn by_level(of: impl Fn(usize) -> Option<f64>) -> Value {
    let levels = WAIT_LEVELS.iter().enumerate();
    let levels = levels.filter_map(|(idx, level)| Some((level.to_string(), json!(of(idx)?))));
    Value::Object(levels.collect())
}

fn csv_row(method: &ScoredMethod<'_>) -> Value {
    let mut keys = Map::new();
    keys.insert("quantity".to_owned(), json!(method.quantity));
    keys.insert("method".to_owned(), json!(method.method));
    keys.insert("jobs".to_owned(), json!(method.score.n_jobs));
    for (idx, level) in WAIT_LEVELS.iter().enumerate() {
        let mut figure = |name: &str, value: Option<f64>| {
            keys.insert(format!("{name}_{level}"), json!(value));
        };
        let pinball = method.score.pinball(idx);
        figure("coverage", method.score.coverage(idx));
        figure("pinball", pinball.map(|pinball| pinball[0]));
        figure("pinball_ln_min", pinball.map(|pinball| pinball[1]));
        figure("pinball_s", pinball.map(|pinball| pinball[2]));
    }
    keys.insert("mean_abs_ln".to_owned(), json!(method.score.mean_abs_ln()));
    let ratio = method.score.median_ratio();
    keys.insert("median_bound_ratio_0.9".to_owned(), json!(ratio));
    Value::Object(keys)
}

fn render_text(evaluated: &WaitEvaluation) -> String {
    let mut text = format!(
        "{} of {} jobs; {} of the warm-up, {} cancelled while they waited, {} without a bound of each method\n\n",
        evaluated.wait.n_jobs,
        evaluated.n_jobs,
        evaluated.n_warm_up,
        evaluated.n_cancelled,
        evaluated.n_unstated
    );
    text += &render_methods(evaluated);
    text += "\nThe starts by the forest\n\n";
    text += &render_parts(evaluated);
    if let Some((within, worst)) = evaluated.periods() {
        text += &format!(
            "\n0.9 is kept within 5 points in {:.0} % of the periods of 30 days, and by {:.1} % in the worst one\n",
            100.0 * within,
            100.0 * worst
        );
    }
    if let Some(half_width) = evaluated.by_day.half_width(3) {
        text += &format!(
            "95 % confidence, with days as blocks: 0.9 is kept within {:.1} points of the figure above\n",
            100.0 * half_width
        );
    }
    text
}

fn render_methods(evaluated: &WaitEvaluation) -> String {
    let mut columns = vec![
        Column::new("about", |row: &ScoredMethod<'_>| row.quantity.to_owned()),
        Column::new("method", |row: &ScoredMethod<'_>| row.method.to_owned()),
        Column::figure("jobs", |row: &ScoredMethod<'_>| {
            row.score.n_jobs.to_string()
        }),
    ];
    for idx in SHOWN_LEVELS {
        let heading = format!("kept ({})", WAIT_LEVELS[idx]);
        columns.push(Column::optional_figure(
            heading,
            move |row: &ScoredMethod<'_>| row.score.coverage(idx).map(percent),
        ));
    }
    for (idx, scale, unit, decimals) in [
        (2, 0, "ln s", 3),
        (3, 0, "ln s", 3),
        (2, 1, "ln min", 3),
        (3, 1, "ln min", 3),
        (2, 2, "s", 0),
        (3, 2, "s", 0),
    ] {
        let heading = format!("loss {unit} ({})", WAIT_LEVELS[idx]);
        columns.push(Column::optional_figure(
            heading,
            move |row: &ScoredMethod<'_>| {
                let pinball = row.score.pinball(idx)?;
                Some(format!("{:.decimals$}", pinball[scale]))
            },
        ));
    }
    columns.push(Column::optional_figure(
        "mean |ln|",
        |row: &ScoredMethod<'_>| row.score.mean_abs_ln().map(|error| format!("{error:.2}")),
    ));
    columns.push(Column::optional_figure(
        "bound/actual (0.9)",
        |row: &ScoredMethod<'_>| row.score.median_ratio().map(|ratio| format!("{ratio:.1}")),
    ));
    let rows = methods(evaluated);
    let rows = rows.iter().filter(|row| row.score.n_jobs > 0);
    render_figures(&columns, rows, FigureLayout::Open)
}

fn render_parts(evaluated: &WaitEvaluation) -> String {
    let widths = evaluated.by_width.0.iter();
    let mut rows: Vec<(String, PartCoverage)> = widths
        .map(|(width, part)| (format!("{} procs", width.key()), *part))
        .collect();
    let long = evaluated.long();
    if long.n_jobs > 0 {
        rows.push(("median above 10 min".to_owned(), long));
    }
    let mut columns = vec![
        Column::new("jobs of", |row: &(String, PartCoverage)| row.0.clone()),
        Column::figure("jobs", |row: &(String, PartCoverage)| {
            row.1.n_jobs.to_string()
        }),
    ];
    for idx in SHOWN_LEVELS {
        let heading = format!("kept ({})", WAIT_LEVELS[idx]);
        columns.push(Column::figure(
            heading,
            move |row: &(String, PartCoverage)| percent(row.1.coverage(idx)),
        ));
    }
    render_figures(&columns, &rows, FigureLayout::Open)
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
