//! Changes to the tasks of an array that wait: all of them are asked for anew together.

use tollgate_gate::{Effect, GateInput};
use tollgate_model::{Credits, JobId};

use crate::active_task::ActiveTask;
use crate::command::{ArraySpec, JobChange, Submission};
use crate::core::Core;
use crate::output::{
    AdmissionState, CommandError, CommandResult, RowChange, StepOutput, SubmitOutcome,
};
use crate::task_ranges::TaskRanges;

/// The tasks of an array that a change is about: those that wait, have never run, and have no broken promise.
#[derive(Debug, Default)]
struct WaitingTasks {
    tasks: TaskRanges,
    /// Those of them that their user holds.
    held: TaskRanges,
    /// Their slots in the gate.
    slots: Vec<JobId>,
    /// The number of those with a promise of a deadline.
    n_promised: u64,
    /// The prices of those that were admitted.
    price: Credits,
}

impl Core {
    /// Changes the tasks of an array that wait. As many of them as have a promise are promised after the change, or
    /// nothing changes.
    ///
    /// The decision is that about a new array of these tasks after the old ones are cancelled. Its deadline still counts
    /// from the submission.
    pub(crate) fn alter_array(
        &mut self,
        job: u64,
        change: &JobChange,
        step: &mut StepOutput,
    ) -> Result<CommandResult, CommandError> {
        let waiting = self.waiting_tasks(job);
        if waiting.tasks.is_empty() {
            return Err(CommandError::NoTask);
        }
        let array = self.jobs.arrays.get(&job).ok_or(CommandError::UnknownJob)?;
        let limit_before = array.max_at_once;
        let plan = ArraySpec {
            tasks: waiting.tasks.clone(),
            max_at_once: change.max_at_once.unwrap_or(limit_before),
        };
        let mut submission = array.submission.clone();
        let submitted = submission.options.submitted.unwrap_or(self.now);
        submission.deadline = array.due().map(|due| due.since(submitted));
        submission.options.array = Some(plan.clone());
        let changed = change.apply(&submission, self.now.since(submitted));
        let changed = self.treated(&changed).into_owned();
        let is_limit_new = plan.max_at_once.is_some() && limit_before.is_none();
        if is_limit_new && waiting.n_promised > 0 && changed.deadline.is_some() {
            return Err(CommandError::LimitOfPromised);
        }

        let mut trial = self.gate.fork();
        for &slot in &waiting.slots {
            trial.handle(self.now, GateInput::Cancel { job: slot }, &mut Vec::new())?;
        }
        std::mem::swap(&mut self.gate, &mut trial);
        let answer = self.evaluate(self.now, &changed);
        std::mem::swap(&mut self.gate, &mut trial);
        let is_rejected = matches!(answer.admission, AdmissionState::Rejected(_));
        let may_wait = changed.deadline.is_none() || waiting.n_promised == 0;
        let is_kept = match may_wait {
            true => !is_rejected,
            false => n_promised(&answer, &plan) >= waiting.n_promised,
        };
        if !is_kept {
            return Ok(CommandResult::Unaltered { answer });
        }
        self.withdraw_waiting(job, &waiting, step)?;
        step.changes.push(RowChange::Altered {
            job,
            name: changed.name.clone(),
            estimate: answer.spec.estimate,
            due: answer.spec.due(),
            max_at_once: plan.max_at_once,
            time_limit: change.time_limit,
            comment: change.comment.clone(),
        });
        step.changes.push(RowChange::Decided {
            job,
            answer: answer.clone(),
        });
        self.resubmit(job, &changed, &waiting, answer, step)
    }

    /// Takes the tasks out of the gate; they go on as tasks that are not materialised.
    fn withdraw_waiting(
        &mut self,
        job: u64,
        waiting: &WaitingTasks,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        for &slot in &waiting.slots {
            self.gate
                .handle(self.now, GateInput::Cancel { job: slot }, &mut self.effects)?;
            self.look_ahead.invalidate(slot);
            if self.jobs.remove_group(slot).is_none() {
                self.jobs.remove(slot);
            }
        }
        let is_end = |effect: &Effect| matches!(effect, Effect::Closed { job, .. } if waiting.slots.contains(job));
        self.effects.retain(|effect| !is_end(effect));
        self.apply_effects(step);
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            array.pending.add(&waiting.tasks);
            array.held_pending.remove(&waiting.held);
            array.add_price(Credits::ZERO - waiting.price);
        }
        Ok(())
    }

    /// Submits the tasks with the answer about them, and holds those that were held.
    fn resubmit(
        &mut self,
        job: u64,
        changed: &Submission,
        waiting: &WaitingTasks,
        answer: SubmitOutcome,
        step: &mut StepOutput,
    ) -> Result<CommandResult, CommandError> {
        let plan = changed.options.array.as_ref();
        if let (Some(array), Some(plan)) = (self.jobs.arrays.get_mut(&job), plan) {
            array.take_on(changed, plan);
            let groups = self.admit_tasks(job, changed, plan, &answer, step);
            self.finish_array(job, step);
            if !waiting.held.is_empty() && self.jobs.arrays.contains_key(&job) {
                // None of them may be left.
                let _ = self.hold_tasks(job, Some(&waiting.held), true, step);
            }
            let answer = SubmitOutcome { groups, ..answer };
            return Ok(CommandResult::Altered { answer });
        }
        Err(CommandError::UnknownJob)
    }

    /// Returns the tasks of an array that a change is about.
    fn waiting_tasks(&self, job: u64) -> WaitingTasks {
        let mut waiting = WaitingTasks::default();
        let Some(array) = self.jobs.arrays.get(&job) else {
            return waiting;
        };
        waiting.tasks = array.pending.clone();
        waiting.tasks.add(&array.held_pending);
        waiting.held = array.held_pending.clone();
        let groups = array.groups().iter();
        let groups = groups.map(|group| (group.tasks.clone(), &group.common));
        let single = self.jobs.tasks_of(job);
        let single = single.map(|(task, live)| (TaskRanges::new(task.task, task.task), live));
        let waits = |live: &ActiveTask| {
            let is_ordered = live.has_nodes() || live.follows.is_some() || live.attempt > 0;
            !is_ordered && live.entry.is_none()
        };
        for (tasks, live) in groups.chain(single).filter(|(_, live)| waits(live)) {
            let view = self.gate.view(self.now);
            let slot = view.job(live.slot);
            if slot.is_promised() && live.spec.sla.deadline.is_some() {
                waiting.n_promised += tasks.len();
            }
            if let Some(admission) = slot.accepted {
                let price = self.rules.for_user(live.spec.procs, admission.price);
                waiting.price += price.times(tasks.len() as u32);
            }
            waiting.tasks.add(&tasks);
            if live.held {
                waiting.held.add(&tasks);
            }
            waiting.slots.push(live.slot);
        }
        waiting
    }
}

/// Returns how many of the tasks of an array an answer promises. Those that may run at once, and those that follow
/// them, are promised one by one.
fn n_promised(answer: &SubmitOutcome, plan: &ArraySpec) -> u64 {
    let is_promised =
        |admission: &AdmissionState| matches!(admission, AdmissionState::Accepted { .. });
    if answer.groups.is_empty() {
        return match is_promised(&answer.admission) {
            true => plan.tasks.len(),
            false => 0,
        };
    }
    let groups = answer.groups.iter();
    let promised = groups.filter(|group| is_promised(&group.admission));
    promised.map(|group| group.tasks.len()).sum()
}
