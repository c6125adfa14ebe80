//! Tasks in the gate that wait for their turn.
//!
//! An array may limit how many of its tasks run at once, and no more tasks than that are submitted to the
//! gate. Some come back to it, though: those that their user releases, and followers that the engine has
//! not started. If others have taken their places meanwhile, the gate holds them until it is their turn.

use tollgate_gate::GateInput;
use tollgate_model::TaskId;

use super::ActiveArray;
use crate::core::Core;
use crate::output::{CommandError, StepOutput};

impl Core {
    /// Queues a task that the gate holds, now or when it is its turn.
    pub(crate) fn queue_held_task(
        &mut self,
        task: TaskId,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        if self.is_over_limit(task.job) {
            self.set_awaits_turn(task, true);
            return Ok(());
        }
        let live = self.jobs.get(task).ok_or(CommandError::UnknownJob)?;
        let input = GateInput::Release { job: live.slot };
        self.apply_input(input, step)
    }

    /// Lets a queued task wait for its turn if more tasks of its array than may be at once are queued or
    /// run.
    pub(crate) fn limit_queued_task(&mut self, task: TaskId, step: &mut StepOutput) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        let input = GateInput::Hold { job: live.slot };
        if self.is_over_limit(task.job) && self.apply_input(input, step).is_ok() {
            self.set_awaits_turn(task, true);
        }
    }

    /// Queues the tasks of an array whose turn it is. Returns whether there were any.
    pub(super) fn give_turns(&mut self, job: u64, step: &mut StepOutput) -> bool {
        let mut any = false;
        while let Some(task) = self.next_turn(job) {
            self.set_awaits_turn(task, false);
            any |= self.queue_held_task(task, step).is_ok();
        }
        any
    }

    /// Returns the first task of an array that waits for its turn, if it is its turn.
    fn next_turn(&self, job: u64) -> Option<TaskId> {
        let array = self.jobs.arrays.get(&job)?;
        if array.n_awaiting_turn == 0 || array.n_active() >= array.max_at_once() {
            return None;
        }
        let mut tasks = self.jobs.tasks_of(job);
        let (task, _) = tasks.find(|(_, live)| live.awaits_turn)?;
        Some(task)
    }

    fn is_over_limit(&self, job: u64) -> bool {
        let array = self.jobs.arrays.get(&job);
        array.is_some_and(|array| array.n_active() > array.max_at_once())
    }

    pub(crate) fn set_awaits_turn(&mut self, task: TaskId, awaits: bool) {
        let live = self
            .jobs
            .get_mut(task)
            .filter(|live| live.awaits_turn != awaits);
        let Some(live) = live else {
            return;
        };
        live.awaits_turn = awaits;
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.count_awaiting_turn(awaits);
        }
    }
}

impl ActiveArray {
    /// Returns the number of tasks in the gate that wait for their turn.
    pub(crate) fn n_awaiting_turn(&self) -> u32 {
        self.n_awaiting_turn
    }

    fn count_awaiting_turn(&mut self, awaits: bool) {
        match awaits {
            true => self.n_awaiting_turn += 1,
            false => self.n_awaiting_turn -= 1,
        }
    }

    /// Returns the number of tasks that the gate may run at once: those that are queued or run.
    pub(super) fn n_active(&self) -> u32 {
        self.before_gate - self.n_followers - self.n_awaiting_turn - self.counts.held as u32
    }

    /// Returns the number of tasks that may run at once.
    pub(super) fn max_at_once(&self) -> u32 {
        self.max_at_once.unwrap_or(u32::MAX)
    }
}
