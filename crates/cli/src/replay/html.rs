//! The answer as a page: a sentence, and what it rests on.

use std::fs;
use std::path::Path;

use tollgate_model::Span;
use tollgate_report::ReportPage;
use tollgate_report::page::{PageBlock, PageCell, PageSection, PageTable};

use super::input::ReplayInput;
use super::plan::ReplayPlan;
use super::run::PolicyAnswer;
use crate::exit::CliFailure;
use crate::messages::pluralise;

/// Writes the page of a replay.
pub(super) fn write(
    path: &Path,
    plan: &ReplayPlan,
    input: &ReplayInput,
    answers: &[PolicyAnswer],
) -> Result<(), CliFailure> {
    let html = page(plan, input, answers).to_html();
    fs::write(path, html)
        .map_err(|error| CliFailure::write_failed(path.display().to_string(), error))
}

fn page(plan: &ReplayPlan, input: &ReplayInput, answers: &[PolicyAnswer]) -> ReportPage {
    let source = &input.workload.trace().source;
    let jobs = pluralise(input.workload.len(), "job");
    let mut texts = Vec::new();
    if let Some(possible) = input.workload.deadline_counts().possible_pct() {
        texts.push(format!(
            "{possible:.1} % of the deadlines are possible, because the run time is at most the \
             deadline: no policy can keep more. Deadlines are drawn by the model `{}` where the record \
             has none.",
            plan.jobs.deadlines
        ));
    }
    if answers.iter().any(|answer| answer.shares_nodes) {
        texts.push(
            "Policies with an asterisk let jobs share nodes, or pause them, which a stock batch system \
             does not do."
                .to_owned(),
        );
    }
    let machines = input.machines.iter().map(ToString::to_string);
    texts.push(format!(
        "Machine: {}.",
        machines.collect::<Vec<_>>().join("; ")
    ));
    let mut blocks: Vec<PageBlock> = texts
        .into_iter()
        .map(|text| PageBlock::Text { text })
        .collect();
    blocks.push(PageBlock::Table(table(answers)));
    ReportPage {
        title: format!("{jobs} of {source}"),
        lead: summary(answers),
        sections: vec![PageSection {
            heading: "Policies".to_owned(),
            blocks,
        }],
    }
}

/// Returns the answer in a sentence or two: the policy that fulfils most among all, and among those that
/// a stock batch system can run.
fn summary(answers: &[PolicyAnswer]) -> String {
    let best = |answers: &mut dyn Iterator<Item = &'_ PolicyAnswer>| {
        let best = answers.max_by(|one, other| {
            let sla = |answer: &PolicyAnswer| answer.objectives.sla_pct;
            sla(one).total_cmp(&sla(other))
        })?;
        let (sla, kept) = (best.objectives.sla_pct, best.objectives.reliability_pct);
        Some((
            best.policy.clone(),
            best.nodes,
            format!(
                "finishes {sla:.1} % of the jobs within their deadlines and breaks {:.1} % of its \
                 promises",
                100.0 - kept
            ),
        ))
    };
    let Some((policy, nodes, result)) = best(&mut answers.iter()) else {
        return "No policy ran.".to_owned();
    };
    let on = pluralise(nodes as usize, "node");
    let text = format!("{policy} {result}, the most of all policies tried (on {on}).");
    match best(&mut answers.iter().filter(|answer| !answer.shares_nodes)) {
        Some((stock, _, of_stock)) if stock != policy => {
            format!("{text} Of those that a stock batch system can run, {stock} {of_stock}.")
        }
        _ => text,
    }
}

fn table(answers: &[PolicyAnswer]) -> PageTable {
    let head = [
        "policy",
        "nodes",
        "accepted",
        "rejected",
        "SLA %",
        "reliability %",
        "mean wait, h",
        "wait p90, h",
        "wait p95, h",
        "response p95, h",
        "utilisation %",
    ];
    let hours = |span: Option<Span>| match span {
        Some(span) => PageCell::number(format!("{:.2}", span.as_secs_f64() / 3600.0)),
        None => PageCell::number("-"),
    };
    let row = |answer: &PolicyAnswer| {
        let run = &answer.objectives;
        let (waits, responses) = (run.wait_quantiles, run.response_quantiles);
        let mark = if answer.shares_nodes { " *" } else { "" };
        vec![
            PageCell::text(format!("{}{mark}", answer.policy)),
            PageCell::number(answer.nodes.to_string()),
            PageCell::number(run.accepted.to_string()),
            PageCell::number(run.rejected.to_string()),
            PageCell::number(format!("{:.1}", run.sla_pct)),
            PageCell::number(format!("{:.1}", run.reliability_pct)),
            hours(run.mean_wait),
            hours(waits.map(|waits| waits.p90)),
            hours(waits.map(|waits| waits.p95)),
            hours(responses.map(|responses| responses.p95)),
            run.utilisation.map_or(PageCell::number("-"), |part| {
                PageCell::number(format!("{:.1}", part * 100.0))
            }),
        ]
    };
    PageTable {
        caption: String::new(),
        head: head.into_iter().map(PageCell::text).collect(),
        rows: answers.iter().map(row).collect(),
    }
}
