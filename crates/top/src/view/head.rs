//! The head of the screen: the service, its nodes, its promises.

use std::collections::BTreeSet;

use ratatui_core::text::{Line, Span};
use tollgate_client::types::{
    NodeAvailability, NodeList, RiskCount, ServiceStatus, WorkerLinkState, WorkerStatus,
};
use tollgate_overview::job_facts::WordTone;
use tollgate_overview::outlook::expected_kept;
use tollgate_overview::words::count;
use unicode_width::UnicodeWidthStr;

use super::cells::{clipped, wrapped};
use super::palette::ScreenColours;
use super::times::ShownClock;
use crate::answers::TopAnswers;
use crate::safe_text::safe_line;
use crate::state::{ServiceLink, TopState};

/// The maximum numbers of lines of the nodes, and of the promises.
const MACHINE_LINES: usize = 2;
const PROMISE_LINES: usize = 2;
/// The space between two facts.
const GAP: &str = "   ";

/// Returns the lines of the head.
pub(super) fn lines(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Vec<Line<'static>> {
    let mut lines = vec![title(state, colours, clock, width)];
    let problem = match &state.link {
        ServiceLink::Waiting | ServiceLink::Live => None,
        ServiceLink::Denied(problem) => Some(safe_line(problem)),
        ServiceLink::Away(problem) => {
            Some(format!("{}: waiting for the service", safe_line(problem)))
        }
    };
    if let Some(words) = problem {
        let bad = colours.of_tone(WordTone::Bad);
        let broken = wrapped(&words, width, 2).into_iter().take(2);
        lines.extend(broken.map(|line| Line::styled(line, bad)));
    }
    let Some(answers) = &state.answers else {
        return lines;
    };
    let machine = joined(machine(answers), width);
    lines.extend(machine.into_iter().take(MACHINE_LINES).map(Line::raw));
    let tone = match answers.status.at_risk {
        0 => WordTone::Plain,
        _ => WordTone::Bad,
    };
    let promises = wrapped(&promises(answers), width, 2);
    let promises = promises.into_iter().take(PROMISE_LINES);
    lines.extend(promises.map(|line| Line::styled(line, colours.of_tone(tone))));
    lines
}

/// Returns facts side by side on lines of at most this width. None of them is broken; a longer one is cut.
fn joined(facts: Vec<String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if line.width() + GAP.len() + fact.width() <= width => {
                line.push_str(GAP);
                line.push_str(&fact);
            }
            Some(_) | None => lines.push(clipped(&fact, width)),
        }
    }
    lines
}

/// Returns the first line: the policy and whose jobs are listed; at its end, whether the screen is alive.
fn title(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Line<'static> {
    let (link, tone) = match &state.link {
        ServiceLink::Waiting => ("asking the service".to_owned(), WordTone::Dim),
        ServiceLink::Live => (format!("live {}", clock.now()), WordTone::Good),
        ServiceLink::Away(_) | ServiceLink::Denied(_) if state.answers.is_some() => {
            (format!("NOT LIVE since {}", clock.now()), WordTone::Bad)
        }
        ServiceLink::Away(_) | ServiceLink::Denied(_) => ("NOT LIVE".to_owned(), WordTone::Bad),
    };
    let listed = match state.user() {
        Some(user) => format!("jobs of {}", safe_line(user)),
        None => "jobs of all users".to_owned(),
    };
    let policy = state.answers.as_ref().map(|answers| &answers.status.policy);
    let policy = policy.map_or_else(String::new, |policy| {
        format!("  policy {}", safe_line(policy))
    });
    let left = clipped(
        &format!("tollgate  {listed}{policy}"),
        width.saturating_sub(link.width() + 1),
    );
    let gap = width.saturating_sub(left.width() + link.width());
    Line::from(vec![
        Span::styled(left, colours.heading()),
        Span::raw(" ".repeat(gap)),
        Span::styled(link, colours.of_tone(tone)),
    ])
}

/// Returns what runs and waits, and on how many nodes, workers and pilots.
fn machine(answers: &TopAnswers) -> Vec<String> {
    let TopAnswers { status, nodes, .. } = answers;
    let mut facts = vec![format!("{} run", status.running), waits(status)];
    facts.push(node_words(nodes));
    let n_workers = nodes
        .workers
        .iter()
        .filter(|worker| is_linked(worker))
        .count();
    let pilots = nodes.workers.iter().filter(|worker| worker.site.is_some());
    let n_pilots = pilots.filter(|worker| is_linked(worker)).count();
    if n_workers > 0 {
        let mut words = format!("workers {} of {n_workers} in use", busy_workers(nodes));
        if n_pilots > 0 {
            words.push_str(&format!(", {}", count(n_pilots as u64, "pilot")));
        }
        facts.push(words);
    }
    if status.workers_disconnected > 0 {
        facts.push(format!("{} disconnected", status.workers_disconnected));
    }
    let taken = nodes.resources.iter().filter(|resource| resource.taken > 0);
    facts.extend(taken.map(|resource| {
        format!(
            "{} {}/{}",
            safe_line(&resource.name),
            resource.taken,
            resource.total
        )
    }));
    facts
}

fn waits(status: &ServiceStatus) -> String {
    match status.held {
        0 => format!("{} wait", status.queued),
        held => format!("{} wait, {held} held", status.queued),
    }
}

/// Returns the nodes by their state: `nodes 3 of 4 in use, 1 drained`.
fn node_words(nodes: &NodeList) -> String {
    let in_state = |states: &[NodeAvailability]| {
        let nodes = nodes.nodes.iter();
        let found = nodes.filter(|node| states.iter().any(|state| node.state == *state));
        found.count()
    };
    let busy = in_state(&[NodeAvailability::Busy, NodeAvailability::Draining]);
    let down = in_state(&[NodeAvailability::Down]);
    let drained = in_state(&[NodeAvailability::Draining, NodeAvailability::Drained]);
    let mut words = format!("nodes {busy} of {} in use", nodes.nodes.len() - down);
    let used = in_state(&[NodeAvailability::InUse]);
    for (number, state) in [
        (drained, "drained"),
        (used, "used by others"),
        (down, "down"),
    ] {
        if number > 0 {
            words.push_str(&format!(", {number} {state}"));
        }
    }
    words
}

/// Returns whether a worker is connected.
fn is_linked(worker: &WorkerStatus) -> bool {
    let state = worker.state.known();
    matches!(
        state,
        Some(WorkerLinkState::Connected | WorkerLinkState::Leaving)
    )
}

/// Returns the number of connected workers with a task.
fn busy_workers(nodes: &NodeList) -> usize {
    let busy = nodes.nodes.iter().filter(|node| node.tasks > 0);
    let busy: BTreeSet<u32> = busy.map(|node| node.id).collect();
    let workers = nodes.workers.iter().filter(|worker| is_linked(worker));
    let used = workers.filter(|worker| {
        let last = worker.first_node.saturating_add(worker.nodes);
        busy.range(worker.first_node..last).next().is_some()
    });
    used.count()
}

/// Returns the promises in words, with the causes of those at risk.
fn promises(answers: &TopAnswers) -> String {
    let status = &answers.status;
    let open = count(status.open_promises.into(), "open promise");
    let mut words = match status.open_promises {
        0 => "no open promise".to_owned(),
        _ => format!("{open}, {}", expected_kept(&answers.live)),
    };
    if status.at_risk > 0 {
        words.push_str(&format!(", {} at risk", status.at_risk));
        let cause = |risk: &RiskCount| match status.risks.len() {
            1 => safe_line(&risk.cause),
            _ => format!("{} because {}", risk.promises, safe_line(&risk.cause)),
        };
        let causes: Vec<String> = status.risks.iter().map(cause).collect();
        if !causes.is_empty() {
            words.push_str(&format!(": {}", causes.join("; ")));
        }
    }
    words
}
