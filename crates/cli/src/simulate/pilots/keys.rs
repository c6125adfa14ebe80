//! The output of a comparison of pilots as JSON, as CSV and as a table.

use std::io::{self, Write};

use serde::Serialize;
use tollgate_sim::sites::SitesOutcome;

use super::PolicyAnswer;
use crate::args::OutputFormat;
use crate::output::format::format_span;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The whole output.
#[derive(Serialize)]
struct PilotsReportKeys {
    world: &'static str,
    policies: Vec<PilotPolicyKeys>,
}

/// The figures of a policy. The keys never change silently.
#[derive(Serialize)]
struct PilotPolicyKeys {
    policy: String,
    tasks: usize,
    finished: usize,
    in_time: usize,
    promised: usize,
    kept: usize,
    expected_kept: f64,
    promise_wait_s: Option<f64>,
    promise_wait_p90_s: Option<f64>,
    pilots: u32,
    moves: u32,
    core_hours: f64,
    wasted_core_hours: f64,
    tasks_per_hour: Option<f64>,
    without_cores_s: f64,
}

impl PilotPolicyKeys {
    fn new(answer: &PolicyAnswer) -> Self {
        let SitesOutcome {
            tasks,
            finished,
            in_time,
            promised,
            kept,
            expected_kept,
            promise_wait_s,
            promise_wait_p90_s,
            pilots,
            moves,
            core_hours,
            wasted_core_hours,
            tasks_per_hour,
            without_cores_s,
        } = answer.outcome;
        Self {
            policy: answer.policy.to_string(),
            tasks,
            finished,
            in_time,
            promised,
            kept,
            expected_kept,
            promise_wait_s,
            promise_wait_p90_s,
            pilots,
            moves,
            core_hours,
            wasted_core_hours,
            tasks_per_hour,
            without_cores_s,
        }
    }
}

pub(super) fn print(
    out: &mut impl Write,
    format: OutputFormat,
    answers: &[PolicyAnswer],
) -> io::Result<()> {
    let policies: Vec<PilotPolicyKeys> = answers.iter().map(PilotPolicyKeys::new).collect();
    match format {
        OutputFormat::Table => out.write_all(table(&policies).as_bytes()),
        OutputFormat::Json => {
            let report = PilotsReportKeys {
                world: "sites",
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

fn table(policies: &[PilotPolicyKeys]) -> String {
    let columns = [
        Column::new("policy", |keys: &PilotPolicyKeys| keys.policy.clone()),
        Column::figure("in time", |keys: &PilotPolicyKeys| {
            format!("{} of {}", keys.in_time, keys.tasks)
        }),
        Column::figure("promised", |keys: &PilotPolicyKeys| {
            keys.promised.to_string()
        }),
        Column::figure("kept", |keys: &PilotPolicyKeys| keys.kept.to_string()),
        Column::optional_figure("promise after", |keys: &PilotPolicyKeys| {
            keys.promise_wait_s.map(format_span)
        }),
        Column::optional_figure("90 % after", |keys: &PilotPolicyKeys| {
            keys.promise_wait_p90_s.map(format_span)
        }),
        Column::figure("pilots", |keys: &PilotPolicyKeys| keys.pilots.to_string()),
        Column::figure("core hours", |keys: &PilotPolicyKeys| {
            format!("{:.1}", keys.core_hours)
        }),
        Column::figure("wasted", |keys: &PilotPolicyKeys| {
            let part = keys.wasted_core_hours / keys.core_hours;
            match part.is_finite() {
                true => format!("{:.0} %", 100.0 * part),
                false => String::new(),
            }
        }),
        Column::optional_figure("tasks/h", |keys: &PilotPolicyKeys| {
            keys.tasks_per_hour.map(|rate| format!("{rate:.1}"))
        }),
        Column::figure("without cores", |keys: &PilotPolicyKeys| {
            format_span(keys.without_cores_s)
        }),
    ];
    render_figures(&columns, policies, FigureLayout::Ruled { width: None })
}
