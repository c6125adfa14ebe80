//! Attempts that the site could not launch. Nothing ran, so their tasks are tried again, whatever their rule for
//! evictions: at once if there is another host, and otherwise after a wait for which they are held.

use tollgate_model::{Instant, Span, TaskId};

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::jobs::JobTable;
use crate::output::{CommandError, RowChange, StepOutput};

/// Number of failed launches in a row after which a task is held until its user releases it.
pub const MAX_FAILED_LAUNCHES: u32 = 5;

/// The wait after the first failed launch. Each wait is twice as long as the one before.
const FIRST_WAIT: Span = Span::from_secs(60);

/// The failed launches of a task since its last start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLaunches {
    /// Their number.
    pub count: u32,
    /// The time of the next try of a task that is held for it.
    pub retry_at: Option<Instant>,
}

impl ActiveTask {
    /// Returns the failed launches since the last start, if there are any.
    pub fn failed_launches(&self) -> Option<FailedLaunches> {
        (self.failed_launches > 0).then_some(FailedLaunches {
            count: self.failed_launches,
            retry_at: self.launch_retry_at,
        })
    }
}

impl JobTable {
    /// Returns the time of the next try of a task that is held for it.
    pub(crate) fn next_launch_retry(&self) -> Option<Instant> {
        self.launch_retries.first().map(|(at, _)| *at)
    }

    fn set_launch_retry(&mut self, task: TaskId, at: Instant) {
        self.launch_retries.insert((at, task));
        if let Some(live) = self.get_mut(task) {
            live.launch_retry_at = Some(at);
        }
    }

    /// Lets a held task wait for its user and not for the next try. Returns whether there was to be one.
    pub(crate) fn cancel_launch_retry(&mut self, task: TaskId) -> bool {
        let at = self
            .get_mut(task)
            .and_then(|live| live.launch_retry_at.take());
        at.is_some_and(|at| self.launch_retries.remove(&(at, task)))
    }

    /// Removes and returns a task that is to be tried again by `now`.
    fn take_launch_retry(&mut self, now: Instant) -> Option<TaskId> {
        let (_, task) = *self.launch_retries.first().filter(|(at, _)| *at <= now)?;
        self.cancel_launch_retry(task);
        Some(task)
    }
}

impl Core {
    /// Queues a task again that the site could not launch, or holds it: for a while, or for its user after too many
    /// failures.
    pub(crate) fn retry_launch(
        &mut self,
        task: TaskId,
        is_held: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self.jobs.get_mut(task).ok_or(CommandError::UnknownJob)?;
        live.failed_launches += 1;
        let count = live.failed_launches;
        let has_other_host = self.gate.workers().filter(|(_, live)| live.up).count() > 1;
        let waits = count > 1 || !has_other_host;
        self.return_started(task, is_held || waits, step)?;
        // A task that was being cancelled is gone.
        let is_single = !self.jobs.arrays.contains_key(&task.job);
        if self.jobs.get(task).is_none_or(|live| !live.held) {
            return Ok(());
        }
        if is_single {
            step.changes.push(RowChange::Held { job: task.job });
        }
        if !is_held && count < MAX_FAILED_LAUNCHES {
            self.jobs
                .set_launch_retry(task, self.now + wait_after(count));
        }
        Ok(())
    }

    /// Queues the tasks whose next launch is due.
    pub(crate) fn retry_due_launches(&mut self, step: &mut StepOutput) {
        while let Some(task) = self.jobs.take_launch_retry(self.now) {
            self.mark_held(task, false);
            let done = self.queue_held_task(task, step);
            debug_assert!(done.is_ok(), "it is held: {done:?}");
            match self.jobs.arrays.contains_key(&task.job) {
                true => self.report_held(task.job, step),
                false => step.changes.push(RowChange::Queued { job: task.job }),
            }
        }
    }
}

/// Returns the wait after this number of failed launches in a row, which is below [`MAX_FAILED_LAUNCHES`].
fn wait_after(count: u32) -> Span {
    let doublings = count.saturating_sub(1);
    Span::from_micros(FIRST_WAIT.as_micros() << doublings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_until_the_task_is_held() {
        let waits = (1..MAX_FAILED_LAUNCHES).map(|count| wait_after(count).as_secs_f64() / 60.0);
        assert!(waits.eq([1.0, 2.0, 4.0, 8.0]));
    }
}
