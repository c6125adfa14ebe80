//! Ends of tasks and of arrays, and tasks that are cancelled, held or released.

use tollgate_gate::JobEnding;
use tollgate_model::TaskId;

use super::ActiveArray;
use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{CommandError, RowChange, StepOutput, TaskDropCause};
use crate::task_ranges::TaskRanges;

impl Core {
    /// Handles the end of a task in the gate.
    pub(crate) fn finish_task(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        ending: JobEnding,
        step: &mut StepOutput,
    ) {
        let Some(array) = self.jobs.arrays.get_mut(&task.job) else {
            return;
        };
        let state = live.end_state(ending);
        array.counts.count_end(state, live.wait_code);
        self.end_promise(task, live, ending, step);
        if live.attempt == 0 {
            step.changes.push(RowChange::TasksDropped {
                job: task.job,
                tasks: TaskRanges::new(task.task, task.task),
                cause: TaskDropCause::Cancelled,
            });
        } else {
            let attempt = live.attempt_key(task);
            step.changes.push(RowChange::TaskEnded {
                attempt,
                ending: state,
            });
        }
        self.finish_array(task.job, step);
    }

    /// Ends an array without unfinished tasks.
    pub(crate) fn finish_array(&mut self, job: u64, step: &mut StepOutput) {
        let over = |array: &&mut ActiveArray| array.is_over();
        let Some(array) = self.jobs.arrays.get_mut(&job).filter(over) else {
            return;
        };
        let (ending, succeeded) = (array.counts.end_state(), array.succeeded());
        let tally = array.counts();
        self.jobs.arrays.remove(&job);
        step.changes
            .push(RowChange::ArrayCounts { job, counts: tally });
        step.changes.push(RowChange::JobEnded { job, ending });
        self.notify_dependents(job, succeeded, step);
    }

    /// Records the counts of the arrays that changed in a step.
    pub(crate) fn report_counts(&mut self, step: &mut StepOutput) {
        let arrays = self.jobs.arrays.iter_mut();
        for (&job, array) in arrays.filter(|(_, array)| array.changed) {
            array.changed = false;
            let tally = array.counts();
            step.changes
                .push(RowChange::ArrayCounts { job, counts: tally });
        }
    }

    /// Cancels tasks of an array.
    pub(crate) fn cancel_tasks(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return Err(CommandError::UnknownJob);
        };
        let mut dropped = intersect(&array.pending, tasks);
        let held = intersect(&array.held_pending, tasks);
        array.pending.remove(&dropped);
        array.held_pending.remove(&held);
        dropped.add(&held);
        let mut any = !dropped.is_empty();
        if any {
            array.counts.cancelled += dropped.len() as u32;
            array.changed = true;
            step.changes.push(RowChange::TasksDropped {
                job,
                tasks: dropped,
                cause: TaskDropCause::Cancelled,
            });
        }
        any |= self.cancel_in_groups(job, tasks, step);
        let before_gate = self.tasks_before_gate(job, tasks);
        let released = self.count_no_longer_held(&before_gate);
        // The last of its tasks ends the array, which then has no held tasks to report.
        if released || !held.is_empty() {
            self.report_held(job, step);
        }
        for task in before_gate {
            any |= self.cancel_task(task, step).is_ok();
        }
        self.finish_array(job, step);
        any.then_some(()).ok_or(CommandError::NoTask)
    }

    /// Holds or releases tasks of an array.
    pub(crate) fn hold_tasks(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return Err(CommandError::UnknownJob);
        };
        let ActiveArray {
            pending: queue,
            held_pending: held,
            ..
        } = array;
        let (from, to) = if hold { (queue, held) } else { (held, queue) };
        let moved = intersect(from, tasks);
        from.remove(&moved);
        to.add(&moved);
        array.changed = true;
        let mut any = !moved.is_empty();
        let single = self.tasks_before_gate(job, tasks);
        any |= self.hold_in_groups(job, tasks, hold, step);
        for task in single {
            any |= self.hold_task(task, hold, step).is_ok();
        }
        self.report_held(job, step);
        any.then_some(()).ok_or(CommandError::NoTask)
    }

    /// Counts tasks in the gate that are about to be cancelled as held no longer. Returns whether any was.
    fn count_no_longer_held(&mut self, tasks: &[TaskId]) -> bool {
        let mut any = false;
        for &task in tasks {
            let Some(live) = self.jobs.get_mut(task).filter(|live| live.held) else {
                continue;
            };
            live.held = false;
            any = true;
            if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
                array.count_hold(false);
            }
        }
        any
    }

    pub(crate) fn report_held(&self, job: u64, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get(&job) else {
            return;
        };
        let mut tasks = array.held_pending.clone();
        let before_gate = self.jobs.tasks_of(job).filter(|(_, live)| live.held);
        for (task, _) in before_gate {
            tasks.add(&TaskRanges::new(task.task, task.task));
        }
        for group in array.groups().iter().filter(|group| group.common.held) {
            tasks.add(&group.tasks);
        }
        step.changes.push(RowChange::HeldTasks { job, tasks });
    }

    fn tasks_before_gate(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<TaskId> {
        let all = self.jobs.tasks_of(job).map(|(task, _)| task);
        all.filter(|task| tasks.is_none_or(|tasks| tasks.contains(task.task)))
            .collect()
    }
}

fn intersect(all: &TaskRanges, tasks: Option<&TaskRanges>) -> TaskRanges {
    match tasks {
        None => all.clone(),
        Some(tasks) => all.intersection(tasks),
    }
}
