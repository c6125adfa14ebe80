//! The runner's record of one attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_engine::{LaunchSpec, RunningAttempt};
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, AttemptStart, KillReason, Span};

use super::suspension::Suspension;
use crate::cgroup::group::SlotCgroup;
use crate::cgroup::meter::CgroupUsageBaseline;
use crate::journal::RunnerJournalEntry;
use crate::process::handle::ProcessHandle;
use crate::process::procfs;

/// An attempt that was submitted and whose end is not acknowledged.
pub(crate) struct RunnerTask {
    pub(crate) launch: LaunchSpec,
    pub(crate) state: RunnerTaskState,
    /// The slot that has the attempt or had it; None before, and of an adopted attempt.
    pub(crate) slot: Option<usize>,
    pub(crate) started: Option<AttemptStart>,
    /// Whether the service has set its share since it was submitted.
    pub(crate) has_own_share: bool,
    /// Whether the attempt got the signal before its time limit.
    pub(crate) is_warned: bool,
    /// The first reason for which the attempt was asked to end.
    pub(crate) killed: Option<KillReason>,
    pub(crate) suspension: Suspension,
}

/// The state of an attempt in the runner.
pub(crate) enum RunnerTaskState {
    /// The attempt waits for a free slot, or for the slot of the attempt that it follows.
    Queued,
    /// The attempt is in a slot, whose thread starts its program after those before it.
    Starting,
    /// The attempt's program runs.
    Running(RunningProcess),
    /// The attempt ended or was lost, and the end is recorded.
    Finished(AttemptEvent),
}

/// The processes of an attempt, and their control groups.
#[derive(Clone)]
pub(crate) struct RunningProcess {
    pub(crate) handle: Arc<ProcessHandle>,
    pub(crate) group: SlotCgroup,
    pub(crate) meter: CgroupUsageBaseline,
}

impl RunnerTask {
    pub(crate) fn new(launch: LaunchSpec) -> Self {
        Self {
            launch,
            state: RunnerTaskState::Queued,
            slot: None,
            started: None,
            has_own_share: false,
            is_warned: false,
            killed: None,
            suspension: Suspension::default(),
        }
    }

    pub(crate) const fn is_finished(&self) -> bool {
        matches!(self.state, RunnerTaskState::Finished(_))
    }

    pub(crate) const fn process(&self) -> Option<&RunningProcess> {
        match &self.state {
            RunnerTaskState::Running(process) => Some(process),
            RunnerTaskState::Queued | RunnerTaskState::Starting | RunnerTaskState::Finished(_) => {
                None
            }
        }
    }

    /// Returns when an attempt that began then gets the signal before its time limit; None if it gets none, or
    /// had it.
    pub(crate) fn warning_at(&self, began: Instant) -> Option<Instant> {
        let limits = &self.launch.limits;
        let warning = limits.warning.filter(|_| !self.is_warned)?;
        let after = limits.wall?.as_micros() - warning.before.as_micros();
        began.checked_add(Duration::from_micros(u64::try_from(after).ok()?))
    }

    /// Returns the reports for a service that has received none yet.
    pub(crate) fn reports(&self) -> Vec<AttemptReport> {
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

    /// Returns the journal entries for the next runner.
    pub(crate) fn journal_entries(&self) -> Vec<RunnerJournalEntry> {
        let mut entries = vec![RunnerJournalEntry::Taken(Box::new(self.launch.clone()))];
        if self.is_warned {
            entries.push(RunnerJournalEntry::Warned(self.launch.attempt));
        }
        entries.extend(self.suspension.journal_entries(self.launch.attempt));
        if let RunnerTaskState::Finished(event) = &self.state {
            entries.push(finished_entry(self.launch.attempt, self.started, event));
        }
        entries
    }

    /// Returns the attempt in the form for the engine's caller; None if it has ended.
    pub(crate) fn running(&self) -> Option<RunningAttempt> {
        let cpu = |process: &RunningProcess| {
            let of_all = process.meter.cpu(&process.group);
            of_all.unwrap_or_else(|| procfs::cpu_time(process.handle.pid()))
        };
        (!self.is_finished()).then(|| RunningAttempt {
            attempt: self.launch.attempt,
            started: self.started,
            cpu: self.process().map_or(Span::ZERO, cpu),
            is_suspended: self.suspension.is_on(),
            warning: self.launch.limits.warning,
        })
    }
}

/// Returns the journal entry of an end.
pub(crate) fn finished_entry(
    attempt: AttemptId,
    started: Option<AttemptStart>,
    event: &AttemptEvent,
) -> RunnerJournalEntry {
    RunnerJournalEntry::Over {
        attempt,
        started,
        event: event.clone(),
    }
}
