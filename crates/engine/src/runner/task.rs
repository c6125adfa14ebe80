//! What the runner knows of one attempt.

use std::sync::Arc;
use std::time;

use tollgate_model::Span;

use super::group::Group;
use super::journal::Entry;
use super::live::Live;
use super::meter::Meter;
use super::process;
use crate::{AttemptKey, Event, KillReason, Launch, Report, Running, Start};

/// An attempt that was handed in and whose end nobody has acknowledged.
pub(super) struct Task {
    pub(super) launch: Launch,
    pub(super) state: State,
    pub(super) started: Option<Start>,
    /// Who asked it to end, first.
    pub(super) killed: Option<KillReason>,
}

/// How far it has come.
pub(super) enum State {
    /// For a slot that is free.
    Waits,
    /// In a slot, whose thread starts its program.
    Starts,
    /// Its program runs.
    Runs(Process),
    /// It ended or was lost, and that is on record.
    Over(Event),
}

/// The processes of an attempt, and what they run in.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) live: Arc<Live>,
    pub(super) group: Group,
    pub(super) meter: Meter,
    /// For time limits, which clocks that are set must not change.
    pub(super) began: time::Instant,
}

impl Task {
    pub(super) const fn new(launch: Launch) -> Self {
        Self {
            launch,
            state: State::Waits,
            started: None,
            killed: None,
        }
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    pub(super) const fn process(&self) -> Option<&Process> {
        match &self.state {
            State::Runs(process) => Some(process),
            State::Waits | State::Starts | State::Over(_) => None,
        }
    }

    /// What somebody who has heard nothing yet has to be told.
    pub(super) fn reports(&self) -> Vec<Report> {
        let attempt = self.launch.attempt;
        let started = self.started.map(Event::Started);
        let over = match &self.state {
            State::Over(event) => Some(event.clone()),
            State::Waits | State::Starts | State::Runs(_) => None,
        };
        let events = started.into_iter().chain(over);
        events.map(|event| Report { attempt, event }).collect()
    }

    /// What the next runner has to be told.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries = vec![Entry::Taken(self.launch.clone())];
        if let State::Over(event) = &self.state {
            entries.push(over(self.launch.attempt, self.started, event));
        }
        entries
    }

    /// As the engine's caller sees it, unless it is over.
    pub(super) fn running(&self) -> Option<Running> {
        let cpu = |process: &Process| {
            let of_all = process.meter.cpu(&process.group);
            of_all.unwrap_or_else(|| process::cpu(process.live.pid()))
        };
        (!self.is_over()).then(|| Running {
            attempt: self.launch.attempt,
            started: self.started,
            cpu: self.process().map_or(Span::ZERO, cpu),
        })
    }
}

/// The entry about an end.
pub(super) fn over(attempt: AttemptKey, started: Option<Start>, event: &Event) -> Entry {
    Entry::Over {
        attempt,
        started,
        event: event.clone(),
    }
}
