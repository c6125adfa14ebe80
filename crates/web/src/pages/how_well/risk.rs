//! Policies on the record of the service: the plane of performance and volatility, and the figures behind it.

use serde::Serialize;
use tollgate_client::types::{PolicyRisk, RiskFigures, WhatIfReport, WhatIfState};
use tollgate_report::{AxisExtent, RiskPlot, RiskPoint, RiskSeries, SeriesStyle};

/// The objectives in the order of the table, with their names there.
const OBJECTIVES: [(&str, &str); 4] = [
    ("wait", "wait"),
    ("sla", "SLA"),
    ("reliability", "reliability"),
    ("profitability", "profitability"),
];

/// The section about other policies.
#[derive(Debug, Serialize)]
pub(super) struct RiskView<'a> {
    /// The plane. None without results.
    plane: Option<String>,
    /// The names of the objectives that have values.
    objectives: Vec<&'static str>,
    rows: Vec<PolicyRiskRow<'a>>,
    /// A sentence about the state of the results.
    note: String,
    made_at: Option<&'a str>,
    windows: u32,
}

/// A policy.
#[derive(Debug, Serialize)]
struct PolicyRiskRow<'a> {
    policy: &'a str,
    performance: String,
    volatility: String,
    /// Performance and volatility of each objective.
    separate: Vec<String>,
}

impl<'a> RiskView<'a> {
    /// Returns the section for a report.
    pub(super) fn of(report: &'a WhatIfReport) -> Self {
        let has = |key: &str| {
            report
                .policies
                .iter()
                .any(|policy| policy.separate.contains_key(key))
        };
        let objectives: Vec<_> = OBJECTIVES.into_iter().filter(|(key, _)| has(key)).collect();
        let rows = report.policies.iter().map(|policy| PolicyRiskRow {
            policy: &policy.policy,
            performance: figure(policy.integrated.map(|risk| risk.performance)),
            volatility: figure(policy.integrated.map(|risk| risk.volatility)),
            separate: objectives
                .iter()
                .map(|(key, _)| both(policy.separate.get(*key)))
                .collect(),
        });
        Self {
            plane: plane(&report.policies),
            rows: rows.collect(),
            objectives: objectives.into_iter().map(|(_, name)| name).collect(),
            note: note(report),
            made_at: report.made_at.as_deref(),
            windows: report.windows,
        }
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "not known".to_owned(), |value| format!("{value:.2}"))
}

fn both(risk: Option<&RiskFigures>) -> String {
    match risk {
        Some(risk) => format!("{:.2} \u{b1} {:.2}", risk.performance, risk.volatility),
        None => "not known".to_owned(),
    }
}

fn note(report: &WhatIfReport) -> String {
    let (jobs, needed) = (report.jobs, report.needed_jobs);
    match report.state.known() {
        Some(WhatIfState::TooFewJobs) => format!(
            "{jobs} jobs are over, and {} windows need at least {needed}.",
            report.windows
        ),
        Some(WhatIfState::Running) => {
            "A simulation runs. Its results appear here by themselves.".to_owned()
        }
        Some(WhatIfState::Failed) => format!(
            "The simulation failed: {}.",
            report.problem.as_deref().unwrap_or("without a message")
        ),
        Some(WhatIfState::Ready) | None => format!(
            "Of {} jobs; simulated again once there are 5 % more.",
            report.made_of.unwrap_or(jobs)
        ),
    }
}

/// Draws the plane as studies do. None if no policy has a place in it.
fn plane(policies: &[PolicyRisk]) -> Option<String> {
    let placed = policies.iter().enumerate().filter_map(|(n, policy)| {
        let risk = policy.integrated?;
        Some(RiskSeries {
            name: policy.policy.clone(),
            style: SeriesStyle(n),
            points: vec![RiskPoint {
                scenario: "all objectives".to_owned(),
                risk: tollgate_report::Risk {
                    performance: risk.performance,
                    volatility: risk.volatility,
                },
            }],
        })
    });
    let series: Vec<RiskSeries> = placed.collect();
    let volatility = AxisExtent::AtLeast {
        low: 0.0,
        high: 0.5,
    };
    let title = "Performance and volatility of policies".to_owned();
    let plot = RiskPlot {
        title,
        volatility,
        series,
    };
    (!plot.series.is_empty()).then(|| plot.to_svg())
}
