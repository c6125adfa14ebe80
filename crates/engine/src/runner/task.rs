//! What the runner knows of one attempt.

use std::sync::Arc;
use std::time;

use tollgate_model::Span;

use super::group::SlotCgroup;
use super::journal::RunnerJournalEntry;
use super::meter::CgroupUsageBaseline;
use super::process_handle::ProcessHandle;
use super::procfs;
use crate::{
    AttemptEvent, AttemptKey, AttemptReport, AttemptStart, KillReason, LaunchSpec, RunningAttempt,
};

/// An attempt that was handed in and whose end nobody has acknowledged.
pub(super) struct RunnerTask {
    pub(super) launch: LaunchSpec,
    pub(super) state: RunnerTaskState,
    pub(super) started: Option<AttemptStart>,
    /// Who asked it to end, first.
    pub(super) killed: Option<KillReason>,
}

/// How far it has come.
pub(super) enum RunnerTaskState {
    /// For a slot that is free.
    Queued,
    /// In a slot, whose thread starts its program.
    Starting,
    /// Its program runs.
    Running(RunningProcess),
    /// It ended or was lost, and that is on record.
    Finished(AttemptEvent),
}

/// The processes of an attempt, and what they run in.
#[derive(Clone)]
pub(super) struct RunningProcess {
    pub(super) handle: Arc<ProcessHandle>,
    pub(super) group: SlotCgroup,
    pub(super) meter: CgroupUsageBaseline,
    /// For time limits, which clocks that are set must not change.
    pub(super) began: time::Instant,
}

impl RunnerTask {
    pub(super) const fn new(launch: LaunchSpec) -> Self {
        Self {
            launch,
            state: RunnerTaskState::Queued,
            started: None,
            killed: None,
        }
    }

    pub(super) const fn is_finished(&self) -> bool {
        matches!(self.state, RunnerTaskState::Finished(_))
    }

    pub(super) const fn process(&self) -> Option<&RunningProcess> {
        match &self.state {
            RunnerTaskState::Running(process) => Some(process),
            RunnerTaskState::Queued | RunnerTaskState::Starting | RunnerTaskState::Finished(_) => {
                None
            }
        }
    }

    /// What somebody who has heard nothing yet has to be told.
    pub(super) fn reports(&self) -> Vec<AttemptReport> {
        let attempt = self.launch.attempt;
        let started = self.started.map(AttemptEvent::Started);
        let over = match &self.state {
            RunnerTaskState::Finished(event) => Some(event.clone()),
            RunnerTaskState::Queued | RunnerTaskState::Starting | RunnerTaskState::Running(_) => {
                None
            }
        };
        let events = started.into_iter().chain(over);
        events
            .map(|event| AttemptReport { attempt, event })
            .collect()
    }

    /// What the next runner has to be told.
    pub(super) fn journal_entries(&self) -> Vec<RunnerJournalEntry> {
        let mut entries = vec![RunnerJournalEntry::Taken(self.launch.clone())];
        if let RunnerTaskState::Finished(event) = &self.state {
            entries.push(finished_entry(self.launch.attempt, self.started, event));
        }
        entries
    }

    /// As the engine's caller sees it, unless it is over.
    pub(super) fn running(&self) -> Option<RunningAttempt> {
        let cpu = |process: &RunningProcess| {
            let of_all = process.meter.cpu(&process.group);
            of_all.unwrap_or_else(|| procfs::cpu_time(process.handle.pid()))
        };
        (!self.is_finished()).then(|| RunningAttempt {
            attempt: self.launch.attempt,
            started: self.started,
            cpu: self.process().map_or(Span::ZERO, cpu),
        })
    }
}

/// The entry about an end.
pub(super) fn finished_entry(
    attempt: AttemptKey,
    started: Option<AttemptStart>,
    event: &AttemptEvent,
) -> RunnerJournalEntry {
    RunnerJournalEntry::Over {
        attempt,
        started,
        event: event.clone(),
    }
}
