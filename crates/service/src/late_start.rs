//! Attempts whose program the engine has not started yet: as long as they wait in the queue of a batch system.
//!
//! The gate gives a job its nodes when it orders the attempt, and forecasts contain the usual delay of a
//! batch system ([`AdmissionRules::start_delay`](crate::AdmissionRules)). Where the engine takes longer, the
//! run counts from the program's start, less that delay. Until then it is counted anew every half minute, as
//! if the engine had got the order at that moment. So no prediction takes the wait for a part of the run.
//! Engines without a queue start programs at once, and nothing is counted anew.

use serde::{Deserialize, Serialize};
use tollgate_gate::GateInput;
use tollgate_model::{Instant, Span, TaskId};

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::jobs::JobTable;
use crate::output::StepOutput;

/// The time from the order of an attempt until its run is counted anew, and then from one count to the next.
const RECOUNT_INTERVAL: Span = Span::from_secs(30);

/// The wait of an attempt for the start of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineWait {
    /// The time of the order.
    pub ordered: Instant,
    /// The time of the next count.
    recount_at: Instant,
}

impl EngineWait {
    /// Returns the entry of the wait of a task.
    pub(crate) const fn key(&self, task: TaskId) -> (Instant, TaskId) {
        (self.recount_at, task)
    }
}

impl ActiveTask {
    /// Returns the time at which the current attempt was ordered. None if there is none.
    pub fn ordered(&self) -> Option<Instant> {
        self.engine_wait
            .map_or(self.started, |wait| Some(wait.ordered))
    }
}

impl JobTable {
    /// Records that an engine with a queue has been ordered to start the current attempt of a task.
    fn await_engine(&mut self, task: TaskId, now: Instant) {
        let recount_at = now + RECOUNT_INTERVAL;
        if let Some(live) = self.get_mut(task) {
            live.engine_wait = Some(EngineWait {
                ordered: now,
                recount_at,
            });
            self.engine_waits.insert((recount_at, task));
        }
    }

    /// Records that the wait of a task is over, and returns the wait.
    pub(crate) fn end_engine_wait(&mut self, task: TaskId) -> Option<EngineWait> {
        let wait = self.get_mut(task)?.engine_wait.take()?;
        self.engine_waits.remove(&wait.key(task));
        Some(wait)
    }

    /// Returns the time of the next count.
    pub(crate) fn next_recount(&self) -> Option<Instant> {
        self.engine_waits.first().map(|(at, _)| *at)
    }

    /// Returns a task that is to be counted anew by `now`, once for each count.
    fn take_recount(&mut self, now: Instant) -> Option<TaskId> {
        let (at, task) = *self.engine_waits.first().filter(|(at, _)| *at <= now)?;
        self.engine_waits.remove(&(at, task));
        let wait = self.get_mut(task)?.engine_wait.as_mut()?;
        wait.recount_at = now + RECOUNT_INTERVAL;
        let next = wait.recount_at;
        self.engine_waits.insert((next, task));
        Some(task)
    }
}

impl Core {
    /// Records that the engine has been ordered to start the current attempt of a task.
    pub(crate) fn note_order(&mut self, task: TaskId) {
        if self.rules.start_delay > Span::ZERO {
            self.jobs.await_engine(task, self.now);
        }
    }

    /// Records that the program of the current attempt of a task has started.
    pub(crate) fn note_program_start(&mut self, task: TaskId, at: Instant, step: &mut StepOutput) {
        let Some(wait) = self.jobs.end_engine_wait(task) else {
            return;
        };
        let counted = self.jobs.get(task).and_then(|live| live.started);
        let from = (at - self.rules.start_delay).max(wait.ordered);
        if counted != Some(from) {
            self.count_run_from(task, from, step);
        }
    }

    /// Counts the runs anew that the engine has not started.
    pub(crate) fn recount_engine_waits(&mut self, step: &mut StepOutput) {
        while let Some(task) = self.jobs.take_recount(self.now) {
            self.count_run_from(task, self.now, step);
        }
    }

    /// Counts the run of a task that has its nodes to itself from `at` on.
    fn count_run_from(&mut self, task: TaskId, at: Instant, step: &mut StepOutput) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        if self.shared_work_s(live, self.now).is_some() {
            return;
        }
        let (job, attempt) = (live.slot, live.gate_attempt);
        if let Some(live) = self.jobs.get_mut(task) {
            live.started = Some(at);
        }
        // At the end of the step beliefs take note of the task as of one that starts now.
        self.history.beliefs.remove(task);
        self.look_ahead.invalidate(job);
        let done = self.apply_input(GateInput::ProgramStarted { job, attempt, at }, step);
        debug_assert!(done.is_ok(), "the attempt is the current one: {done:?}");
    }
}
