//! Failed tasks that are tried again, as their users want it.
//!
//! A try that failed leaves the promise open: the task is queued again, and only its last end counts.

use tollgate_model::TaskId;

use crate::core::Core;
use crate::output::{CommandError, StepOutput};

impl Core {
    /// Returns whether a task whose attempt has just ended is tried again.
    pub(crate) fn is_retried(&self, task: TaskId) -> bool {
        let Some(live) = self.jobs.get(task) else {
            return false;
        };
        let submission = self.jobs.submission_of(task);
        let rule = submission.and_then(|submission| submission.options.retries.as_ref());
        rule.zip(live.ending).is_some_and(|(rule, ending)| {
            live.retries < rule.count && rule.covers(ending, live.wait_code)
        })
    }

    /// Queues a task again whose attempt failed, unless its user has cancelled it. It is held if its user held it
    /// while the engine got it ahead of time.
    pub(crate) fn retry_failed(
        &mut self,
        task: TaskId,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self.jobs.get_mut(task).ok_or(CommandError::UnknownJob)?;
        live.retries += 1;
        self.return_started(task, hold, step)
    }
}
