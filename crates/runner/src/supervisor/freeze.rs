//! The suspension of attempts: their processes are frozen, and their timers stopped.

use std::time::{Duration, Instant};

use tollgate_engine::{BootTime, SuspendedAttempt};
use tollgate_model::AttemptId;

use super::RunnerSupervisor;
use super::task::RunnerTask;
use crate::cgroup::priority::TasksPriority;
use crate::journal::RunnerJournalEntry;
use crate::process::stop;

/// The maximum wait for processes to stop. One that still runs then is in an uninterruptible system call, and stops
/// when the call returns.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_micros(200);

impl RunnerSupervisor {
    /// Suspends attempts that were not asked to end. Returns those that run and are suspended.
    pub(super) fn suspend(&mut self, attempts: &[AttemptId]) -> Vec<SuspendedAttempt> {
        let is_new = |attempt: &&AttemptId| {
            let task = self.tasks.get(attempt);
            let task = task.filter(|task| !task.is_finished() && task.killed.is_none());
            task.is_some_and(|task| !task.suspension.is_on())
        };
        let new: Vec<AttemptId> = attempts.iter().filter(is_new).copied().collect();
        self.begin_suspensions(&new);
        self.freeze(attempts);
        let suspended = |attempt: &AttemptId| self.suspended(*attempt);
        attempts.iter().filter_map(suspended).collect()
    }

    fn suspended(&self, attempt: AttemptId) -> Option<SuspendedAttempt> {
        let task = self.tasks.get(&attempt)?;
        let process = task.process().filter(|_| task.suspension.is_on())?;
        Some(SuspendedAttempt {
            attempt,
            memory: process.group.needed_memory(),
            holds_gpu: stop::holds_gpu(&process.group, &self.host.runner_id.mark(attempt)),
        })
    }

    /// Begins the suspension of an attempt anew that was suspended before it started.
    pub(super) fn restart_suspension(&mut self, attempt: AttemptId) {
        if self.is_suspended(attempt) {
            self.begin_suspensions(&[attempt]);
        }
    }

    pub(super) fn is_suspended(&self, attempt: AttemptId) -> bool {
        let task = self.tasks.get(&attempt);
        task.is_some_and(|task| task.suspension.is_on())
    }

    fn begin_suspensions(&mut self, attempts: &[AttemptId]) {
        let now = BootTime::now();
        for attempt in attempts {
            if let Some(task) = self.tasks.get_mut(attempt) {
                task.suspension.begin(now);
            }
        }
        self.record(
            attempts
                .iter()
                .map(|attempt| RunnerJournalEntry::Suspended {
                    attempt: *attempt,
                    at_micros: now.as_micros(),
                }),
        );
    }

    /// Freezes the processes of those of the attempts that are suspended and run, and stops their timers.
    pub(crate) fn freeze(&mut self, attempts: &[AttemptId]) {
        let mut left: Vec<AttemptId> = attempts.to_vec();
        left.retain(|attempt| {
            let task = self.tasks.get(attempt);
            task.is_some_and(|task| task.suspension.is_on() && task.process().is_some())
        });
        if left.is_empty() {
            return;
        }
        for attempt in &left {
            self.pause_timers(*attempt);
        }
        // A process needs processor time to freeze, and other processes of the host may want all of it.
        let _raised = self.host.priority.raise(TasksPriority::Highest);
        let began = Instant::now();
        loop {
            left.retain(|attempt| !self.is_frozen(*attempt));
            if left.is_empty() || began.elapsed() >= FREEZE_TIMEOUT {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        for attempt in left {
            tracing::warn!(%attempt, "a process of the attempt cannot be frozen yet");
        }
    }

    /// Begins to freeze the processes of an attempt, and returns whether all of them are.
    fn is_frozen(&self, attempt: AttemptId) -> bool {
        let process = self.tasks.get(&attempt).and_then(RunnerTask::process);
        let mark = self.host.runner_id.mark(attempt);
        process.is_none_or(|process| stop::suspend(&process.group, &process.handle, &mark))
    }

    /// Resumes attempts.
    pub(super) fn resume(&mut self, attempts: &[AttemptId]) {
        let now = BootTime::now();
        let was_suspended = |attempt: &&AttemptId| {
            let task = self.tasks.get_mut(attempt);
            let task = task.filter(|task| !task.is_finished());
            task.is_some_and(|task| task.suspension.end(now))
        };
        let resumed: Vec<AttemptId> = attempts.iter().filter(was_suspended).copied().collect();
        self.record(resumed.iter().map(|attempt| RunnerJournalEntry::Resumed {
            attempt: *attempt,
            at_micros: now.as_micros(),
        }));
        for attempt in resumed {
            self.thaw(attempt);
            self.resume_timers(attempt);
        }
    }

    /// Lets the processes of an attempt go on, whether or not they are frozen.
    pub(crate) fn thaw(&self, attempt: AttemptId) {
        if let Some(process) = self.tasks.get(&attempt).and_then(RunnerTask::process) {
            let mark = self.host.runner_id.mark(attempt);
            stop::resume(&process.group, &process.handle, &mark);
        }
    }

    fn pause_timers(&mut self, attempt: AttemptId) {
        let now = Instant::now();
        if let Some(task) = self.tasks.get_mut(&attempt) {
            let timers = self.timers.take(attempt).into_iter();
            let left = timers.map(|(at, due)| (at.saturating_duration_since(now), due));
            task.suspension.timers.extend(left);
        }
    }

    fn resume_timers(&mut self, attempt: AttemptId) {
        let now = Instant::now();
        if let Some(task) = self.tasks.get_mut(&attempt) {
            for (left, due) in std::mem::take(&mut task.suspension.timers) {
                if let Some(at) = now.checked_add(left) {
                    self.timers.set(at, attempt, due);
                }
            }
        }
    }

    /// Sets the priority of all tasks to that of the settings. An attempt that was asked to end needs processor time
    /// for it, and so does one that checks the host.
    pub(crate) fn reapply_priority(&self) {
        let mut placed = self.placed.iter().filter_map(|key| self.tasks.get(key));
        let can_wait = |task: &RunnerTask| task.killed.is_none() && !task.launch.is_probe;
        let is_low = self.settings.low_priority && placed.all(can_wait);
        self.host.priority.set(match is_low {
            true => TasksPriority::Lowest,
            false => TasksPriority::Usual,
        });
    }

    /// Records suspensions for the next runner. Without the record their time would count as run time.
    fn record(&mut self, entries: impl Iterator<Item = RunnerJournalEntry>) {
        let entries: Vec<RunnerJournalEntry> = entries.collect();
        if let Err(error) = self.journal.append(&entries) {
            tracing::warn!(%error, "suspensions cannot be recorded");
        }
    }
}
