//! The output of a campus replay as JSON, as CSV and as a table.

use std::io::{self, Write};

use serde::Serialize;
use tollgate_model::Span;
use tollgate_sim::campus::{CampusEnvironment, CampusMetrics};

use super::CampusAnswer;
use crate::args::OutputFormat;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The whole output.
#[derive(Serialize)]
struct CampusReportKeys<'a> {
    world: &'static str,
    computers: usize,
    tasks: usize,
    span_s: f64,
    policies: Vec<CampusPairKeys<'a>>,
}

/// The results of a pair of policies. The keys never change silently.
#[derive(Serialize)]
struct CampusPairKeys<'a> {
    retry: &'a str,
    select: &'a str,
    energy_kwh: f64,
    attributed_kwh: f64,
    dedicated_kwh: f64,
    overhead_s: Option<f64>,
    good_tasks: u32,
    good_completed: u32,
    good_killed: u32,
    good_unfinished: u32,
    bad_tasks: u32,
    bad_killed: u32,
    bad_removed: u32,
    bad_unfinished: u32,
    good_evictions: f64,
    bad_evictions: f64,
    good_wasted_s: f64,
    bad_wasted_s: f64,
    allocations: u64,
}

impl<'a> CampusPairKeys<'a> {
    fn new(answer: &'a CampusAnswer) -> Self {
        let CampusMetrics { good, bad, .. } = &answer.metrics;
        Self {
            retry: &answer.retry,
            select: answer.select,
            energy_kwh: answer.metrics.marginal.as_kwh(),
            attributed_kwh: answer.metrics.attributed.as_kwh(),
            dedicated_kwh: answer.metrics.dedicated.as_kwh(),
            overhead_s: answer.metrics.overhead.map(Span::as_secs_f64),
            good_tasks: good.tasks,
            good_completed: good.completed,
            good_killed: good.killed,
            good_unfinished: good.unfinished,
            bad_tasks: bad.tasks,
            bad_killed: bad.killed,
            bad_removed: bad.removed,
            bad_unfinished: bad.unfinished,
            good_evictions: good.mean_evictions(),
            bad_evictions: bad.mean_evictions(),
            good_wasted_s: good.wasted.as_secs_f64(),
            bad_wasted_s: bad.wasted.as_secs_f64(),
            allocations: answer.metrics.allocations,
        }
    }
}

pub(super) fn print(
    out: &mut impl Write,
    format: OutputFormat,
    campus: &CampusEnvironment,
    answers: &[CampusAnswer],
) -> io::Result<()> {
    let policies: Vec<CampusPairKeys<'_>> = answers.iter().map(CampusPairKeys::new).collect();
    match format {
        OutputFormat::Table => out.write_all(table(&policies).as_bytes()),
        OutputFormat::Json => {
            let report = CampusReportKeys {
                world: "campus",
                computers: campus.layout().computers.len(),
                tasks: campus.tasks().len(),
                span_s: campus.horizon().as_secs_f64(),
                policies,
            };
            serde_json::to_writer_pretty(&mut *out, &report)?;
            writeln!(out)
        }
        OutputFormat::Csv => {
            let mut rows = csv::Writer::from_writer(out);
            for keys in &policies {
                rows.serialize(keys)?;
            }
            rows.flush()
        }
    }
}

/// Renders the table. Its middle columns are about good tasks.
fn table(policies: &[CampusPairKeys<'_>]) -> String {
    let columns = [
        Column::new("retry", |keys: &CampusPairKeys<'_>| keys.retry.to_owned()),
        Column::new("select", |keys: &CampusPairKeys<'_>| keys.select.to_owned()),
        Column::figure("energy kWh", |keys: &CampusPairKeys<'_>| {
            format!("{:.1}", keys.energy_kwh)
        }),
        Column::optional_figure("overhead min", |keys: &CampusPairKeys<'_>| {
            keys.overhead_s.map(|secs| format!("{:.2}", secs / 60.0))
        }),
        Column::figure("killed", |keys: &CampusPairKeys<'_>| {
            keys.good_killed.to_string()
        }),
        Column::figure("unfinished", |keys: &CampusPairKeys<'_>| {
            keys.good_unfinished.to_string()
        }),
        Column::figure("evictions", |keys: &CampusPairKeys<'_>| {
            format!("{:.2}", keys.good_evictions)
        }),
        Column::figure("bad stopped", |keys: &CampusPairKeys<'_>| {
            format!("{} of {}", keys.bad_killed, keys.bad_tasks)
        }),
    ];
    render_figures(&columns, policies, FigureLayout::Ruled { width: None })
}
