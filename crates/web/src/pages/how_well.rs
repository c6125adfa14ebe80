//! Promises against what was kept, the books, the policy on paper and the ledger.

mod ledger_csv;
mod risk;

use axum::Extension;
use serde::Serialize;
use tollgate_client::PathWithQuery;
use tollgate_client::records::EvictionReport;
use tollgate_client::types::{
    CalibrationReport, LedgerReport, ServiceObjectives, ServiceStatus, ShadowStatus, WhatIfReport,
};

use self::risk::RiskView;
use super::{PageError, PagePart};
use crate::charts::{ChartWidth, reliability};
use crate::router::SessionWindow;
use crate::templates;
use tollgate_overview::words;

/// The answers that the page is made of.
#[derive(Clone, Debug)]
pub struct HowWellAnswers {
    /// The state of the service.
    pub status: ServiceStatus,
    /// Promises against what was kept.
    pub calibration: CalibrationReport,
    /// The books.
    pub objectives: ServiceObjectives,
    /// The ledger.
    pub ledger: LedgerReport,
    /// What was evicted and abandoned.
    pub evictions: EvictionReport,
    /// Policies on the record of the service. None if the user may not ask.
    pub what_if: Option<WhatIfReport>,
}

/// A row of two policies side by side.
#[derive(Debug, Serialize)]
struct PolicyComparisonRow {
    name: &'static str,
    real: String,
    paper: String,
    /// The better one: `real`, `paper`, or empty.
    better: &'static str,
}

/// The page.
#[derive(Debug, Serialize)]
struct HowWellView<'a> {
    kept: u64,
    promises: u64,
    wide: String,
    narrow: String,
    books: Vec<(&'static str, String)>,
    policy: &'a str,
    shadow: Option<&'a ShadowStatus>,
    side_by_side: Vec<PolicyComparisonRow>,
    ledger: &'a LedgerReport,
    evictions: Vec<(String, u64, String)>,
    abandoned: u64,
    /// Time on computers for abandoned tasks.
    abandoned_held: String,
    risk: Option<RiskView<'a>>,
    /// The address of the ledger as CSV.
    csv: String,
}

/// Returns the page.
pub(crate) async fn page(
    Extension(window): Extension<SessionWindow>,
) -> Result<PagePart, PageError> {
    let path = |path: &str| PathWithQuery::new(path);
    let status: ServiceStatus = window.client.service.get(&path("/v1/status")).await?;
    let what_if = match status.may_operate {
        true => Some(window.client.service.get(&path("/v1/what-if")).await?),
        false => None,
    };
    let answers = HowWellAnswers {
        status,
        what_if,
        calibration: window.client.service.get(&path("/v1/calibration")).await?,
        objectives: window.client.service.get(&path("/v1/objectives")).await?,
        ledger: window.client.service.get(&path("/v1/ledger")).await?,
        evictions: {
            let path = path("/v1/evictions");
            let evictions = window.client.service.get(&path);
            // A service of an earlier version has no such path, and no evictions.
            evictions.await.unwrap_or_default()
        },
    };
    Ok(PagePart(render(&answers)))
}

/// Renders the page.
pub fn render(answers: &HowWellAnswers) -> String {
    let bins = answers.calibration.bins.iter().map(|bin| &bin.figures);
    let (kept, promises) = bins.fold((0, 0), |(kept, all), figures| {
        (kept + figures.kept, all + figures.promises)
    });
    let shadow = answers.status.shadow.as_ref();
    let view = HowWellView {
        kept,
        promises,
        wide: reliability::draw(&answers.calibration, ChartWidth::Wide),
        narrow: reliability::draw(&answers.calibration, ChartWidth::Narrow),
        books: books(&answers.objectives),
        policy: &answers.status.policy,
        shadow,
        side_by_side: shadow.map_or_else(Vec::new, side_by_side),
        ledger: &answers.ledger,
        evictions: evictions(&answers.evictions),
        abandoned: answers.evictions.abandoned,
        abandoned_held: words::span(answers.evictions.abandoned_held_s),
        risk: answers.what_if.as_ref().map(RiskView::of),
        csv: ledger_csv::address(&answers.ledger.accounts),
    };
    templates::render("how-well", &view)
}

/// Returns the evictions by cause: cause, number, and time on computers in vain.
fn evictions(report: &EvictionReport) -> Vec<(String, u64, String)> {
    let rows = report.by_cause.iter();
    let rows = rows.map(|one| {
        (
            one.cause.to_string(),
            one.evictions,
            words::span(one.held_s),
        )
    });
    rows.collect()
}

fn pct(value: Option<f64>) -> String {
    value.map_or_else(|| "not known".to_owned(), |pct| format!("{pct:.1} %"))
}

fn books(books: &ServiceObjectives) -> Vec<(&'static str, String)> {
    let wait = books
        .wait_s
        .map_or_else(|| "not known".to_owned(), words::span);
    vec![
        ("jobs", books.submitted.to_string()),
        ("admitted", books.accepted.to_string()),
        ("promises kept", books.kept.to_string()),
        ("promises broken", books.broken.to_string()),
        ("by the job's own run", books.broken_by_own_run.to_string()),
        ("by others", books.broken_by_others.to_string()),
        ("by the site", books.broken_by_site.to_string()),
        ("by evictions", books.broken_by_eviction.to_string()),
        ("promises void", books.void.to_string()),
        ("without a promise", books.unpromised.to_string()),
        ("in time all the same", books.unpromised_in_time.to_string()),
        ("without a deadline", books.no_deadline.to_string()),
        ("mean wait of kept ones", wait),
        ("SLA", pct(books.sla_pct)),
        ("reliability", pct(books.reliability_pct)),
        ("profitability", pct(books.profitability_pct)),
    ]
}

fn side_by_side(shadow: &ShadowStatus) -> Vec<PolicyComparisonRow> {
    let (real, paper) = (&shadow.real_objectives, &shadow.paper_objectives);
    let row = |name,
               values: (Option<f64>, Option<f64>),
               is_more_better: bool,
               form: fn(f64) -> String| {
        let words = |value: Option<f64>| value.map_or_else(|| "not known".to_owned(), form);
        let better = match values {
            (Some(real), Some(paper)) if real == paper => "",
            (Some(real), Some(paper)) if (real > paper) == is_more_better => "real",
            (Some(_), Some(_)) => "paper",
            _ => "",
        };
        PolicyComparisonRow {
            name,
            real: words(values.0),
            paper: words(values.1),
            better,
        }
    };
    let whole = |value: f64| format!("{value:.0}");
    let share = |value: f64| format!("{value:.1} %");
    let count = |value: u64| Some(value as f64);
    vec![
        row(
            "admitted",
            (count(real.accepted), count(paper.accepted)),
            true,
            whole,
        ),
        row(
            "promises kept",
            (count(real.kept), count(paper.kept)),
            true,
            whole,
        ),
        row(
            "mean wait of kept ones",
            (real.wait_s, paper.wait_s),
            false,
            words::span,
        ),
        row("SLA", (real.sla_pct, paper.sla_pct), true, share),
        row(
            "reliability",
            (real.reliability_pct, paper.reliability_pct),
            true,
            share,
        ),
        row(
            "profitability",
            (real.profitability_pct, paper.profitability_pct),
            true,
            share,
        ),
    ]
}
