//! The answer as a page: a sentence, and what it rests on.

use std::fs;
use std::path::Path;

use tollgate_model::Span;
use tollgate_replay::{PolicyAnswer, ReplayInput};
use tollgate_report::ReportPage;
use tollgate_report::page::{PageBlock, PageCell, PageSection, PageTable};

use super::notes;
use super::plan::ReplayPlan;
use crate::exit::CliFailure;
use crate::output::messages::pluralise;

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
    if let Some(possible) = input.deadlines.possible_pct() {
        texts.push(format!(
            "{possible:.1} % of the deadlines are possible, because the run time is at most the \
             deadline: no policy can keep more. Deadlines are drawn by the model `{}` where the record \
             has none.",
            plan.settings.jobs.deadlines
        ));
    }
    if answers.iter().any(|answer| answer.shares_nodes) {
        texts.push(
            "Policies with an asterisk let jobs share nodes, or pause them, which a stock batch system \
             does not do."
                .to_owned(),
        );
    }
    let machines = input.machines.iter().map(notes::describe);
    texts.push(format!(
        "Machine: {}.",
        machines.collect::<Vec<_>>().join("; ")
    ));
    if let Some(speeds) = &plan.settings.speeds {
        texts.push(format!(
            "Speeds of the nodes, relative to those of the record: {speeds}."
        ));
    }
    let memory = notes::memory_sentences(plan, input).into_iter();
    texts.extend(memory.map(|sentence| format!("Memory: {sentence}.")));
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

/// The number of kept promises that one broken promise outweighs in the answer: `plan` admits by the same.
const WEIGHT_OF_BREACH: f64 = 5.0;

/// Returns the answer in a few sentences: the best policy, the one that fulfils most, and the best that a
/// stock batch system can run, where these differ.
fn summary(answers: &[PolicyAnswer]) -> String {
    let Some(best) = best_by(answers.iter(), net_pct) else {
        return "No policy ran.".to_owned();
    };
    let mut sentences = vec![format!(
        "If a late job that was admitted outweighs five in time, {} is the best of these policies: on {} it {}.",
        best.policy,
        pluralise(best.nodes as usize, "node"),
        result(best)
    )];
    let most = best_by(answers.iter(), |answer| answer.objectives.sla_pct);
    if let Some(most) = most.filter(|most| most.policy != best.policy) {
        sentences.push(format!("{} {}.", most.policy, result(most)));
    }
    let stock = best_by(
        answers.iter().filter(|answer| !answer.shares_nodes),
        net_pct,
    );
    if let Some(stock) = stock.filter(|_| best.shares_nodes) {
        sentences.push(format!(
            "The best that a stock batch system can run is {}: it {}.",
            stock.policy,
            result(stock)
        ));
    }
    sentences.join(" ")
}

fn best_by<'a>(
    answers: impl Iterator<Item = &'a PolicyAnswer>,
    value: impl Fn(&PolicyAnswer) -> f64,
) -> Option<&'a PolicyAnswer> {
    answers.max_by(|one, other| value(one).total_cmp(&value(other)))
}

/// Returns the fulfilled jobs less the weighted jobs that were admitted and not fulfilled, in per cent of the
/// jobs with a deadline.
fn net_pct(answer: &PolicyAnswer) -> f64 {
    let run = &answer.objectives;
    let broken_pct = match run.reliability_pct {
        0.0 => 100.0,
        kept => run.sla_pct * (100.0 / kept - 1.0),
    };
    run.sla_pct - WEIGHT_OF_BREACH * broken_pct
}

fn result(answer: &PolicyAnswer) -> String {
    let run = &answer.objectives;
    format!(
        "finishes {:.1} % of the jobs within their deadlines; {:.1} % of those that it admits are late",
        run.sla_pct,
        100.0 - run.reliability_pct
    )
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
