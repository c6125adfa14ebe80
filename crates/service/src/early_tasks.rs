//! Jobs that wait for the decision about them and are held or released, and tasks of such arrays that are cancelled, held
//! or released one by one.
//!
//! An array is decided about as a whole, held tasks included: these are held as soon as it is, before any of its tasks can
//! start. So a task that is released alone takes its array with it, and the other tasks wait for their user.

use tollgate_gate::InputError;

use crate::array::task_counts::TaskCounts;
use crate::command::{EarlyTasks, Submission};
use crate::core::Core;
use crate::output::{CommandError, RowChange, StepOutput, TaskDropCause};
use crate::task_ranges::TaskRanges;

impl Core {
    /// Holds or releases a job that waits for the decision about it, with all its tasks.
    pub(crate) fn hold_deferred(
        &mut self,
        job: u64,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let waiting = self.deferred_mut(job)?;
        let options = &mut waiting.options;
        let has_held = !options.early.held.is_empty();
        if options.held == hold && !has_held {
            return Err(CommandError::Gate(match hold {
                true => InputError::NotQueued,
                false => InputError::NotHeld,
            }));
        }
        options.held = hold;
        options.early.held = TaskRanges::default();
        step.changes.push(RowChange::Deferred { job, held: hold });
        if has_held {
            self.report_deferred(job, step);
        }
        self.release_if_ready(job);
        Ok(())
    }

    /// Holds or releases tasks of an array that waits for the decision about it.
    pub(crate) fn hold_deferred_tasks(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let options = &mut self.deferred_mut(job)?.options;
        let array = options.array.as_ref().ok_or(CommandError::NoArray)?;
        let mut held = match options.held {
            true => array.tasks.clone(),
            false => std::mem::take(&mut options.early.held),
        };
        let mut free = array.tasks.clone();
        free.remove(&held);
        let (from, to) = match hold {
            true => (&mut free, &mut held),
            false => (&mut held, &mut free),
        };
        let moved = from.intersection(tasks);
        from.remove(&moved);
        to.add(&moved);
        let before = options.held;
        options.held = free.is_empty();
        options.early.held = match options.held {
            true => TaskRanges::default(),
            false => held,
        };
        if moved.is_empty() {
            return Err(CommandError::NoTask);
        }
        let held = options.held;
        if held != before {
            step.changes.push(RowChange::Deferred { job, held });
        }
        self.report_deferred(job, step);
        self.release_if_ready(job);
        Ok(())
    }

    /// Cancels tasks of an array that waits for the decision about it.
    pub(crate) fn cancel_deferred_tasks(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let options = &mut self.deferred_mut(job)?.options;
        let array = options.array.as_mut().ok_or(CommandError::NoArray)?;
        let cancelled = array.tasks.intersection(tasks);
        if cancelled.is_empty() {
            return Err(CommandError::NoTask);
        }
        if cancelled == array.tasks {
            return self.cancel_deferred(job, step);
        }
        array.tasks.remove(&cancelled);
        let before = options.held;
        options.early.held.remove(&cancelled);
        options.early.cancelled.add(&cancelled);
        // Those that are left may all be held.
        if options.early.held == array.tasks {
            options.held = true;
            options.early.held = TaskRanges::default();
        }
        let held = options.held;
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks: cancelled,
            cause: TaskDropCause::Cancelled,
        });
        if held != before {
            step.changes.push(RowChange::Deferred { job, held });
        }
        self.report_deferred(job, step);
        Ok(())
    }

    /// Holds the tasks of an array that has just been decided about which its user held before.
    pub(crate) fn hold_early(&mut self, job: u64, early: &EarlyTasks, step: &mut StepOutput) {
        if !early.held.is_empty() {
            let held = self.hold_tasks(job, Some(&early.held), true, step);
            debug_assert!(held.is_ok(), "none of them has started: {held:?}");
        }
    }

    fn deferred_mut(&mut self, job: u64) -> Result<&mut Submission, CommandError> {
        let waiting = self.jobs.deferred.get_mut(&job);
        waiting.ok_or(CommandError::UnknownJob)
    }

    /// Records which tasks of an array are held, and how many wait, before the decision about it.
    fn report_deferred(&self, job: u64, step: &mut StepOutput) {
        let Some(waiting) = self.jobs.deferred.get(&job) else {
            return;
        };
        let tasks = waiting.options.early.held.clone();
        step.changes.push(RowChange::HeldTasks { job, tasks });
        let counts = TaskCounts::deferred(waiting);
        step.changes.push(RowChange::ArrayCounts { job, counts });
    }
}
