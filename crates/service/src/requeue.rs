//! Running tasks that their user queues again: the attempt is ended, and the task waits for its next one.

use tollgate_model::TaskId;

use crate::core::Core;
use crate::output::{CommandError, EngineAction, StepOutput};
use crate::task_ranges::TaskRanges;

impl Core {
    /// Ends the attempts of a job, or of tasks of an array, that run. Each task is queued again once its end is reported,
    /// whatever that end is; its promise stays open.
    pub(crate) fn requeue(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        if self.jobs.user_of(job).is_none() {
            return Err(CommandError::UnknownJob);
        }
        if tasks.is_some() && !self.jobs.arrays.contains_key(&job) {
            return Err(CommandError::NoArray);
        }
        let is_chosen = |task: TaskId| tasks.is_none_or(|tasks| tasks.contains(task.task));
        let running = self.tasks_of(job);
        let running = running.filter(|(task, live)| live.is_running() && is_chosen(*task));
        let running: Vec<TaskId> = running.map(|(task, _)| task).collect();
        for &task in &running {
            if let Some(live) = self.jobs.get_mut(task) {
                live.is_requeued = true;
                let attempt = live.attempt_key(task);
                step.actions.push(EngineAction::Kill { attempt });
            }
        }
        match running.is_empty() {
            true => Err(CommandError::NotRunning),
            false => Ok(()),
        }
    }

    /// Returns whether the attempt that has just ended was ended to queue its task again.
    pub(crate) fn takes_requeue(&mut self, task: TaskId) -> bool {
        let live = self.jobs.get_mut(task);
        live.is_some_and(|live| std::mem::take(&mut live.is_requeued))
    }
}
