//! Changes to jobs that wait: the changed job is asked for anew, and the job stays as it is if the answer
//! is worse.

use tollgate_gate::{Effect, GateInput};
use tollgate_model::JobSpec;

use crate::command::{JobChange, Submission};
use crate::core::Core;
use crate::output::{AdmissionState, CommandError, CommandResult, RowChange, StepOutput};

impl Core {
    /// Changes a job that waits. A job with a promise keeps it unless the changed job is promised as well.
    ///
    /// The decision is that about a new job after the old one is cancelled, so that others may take the
    /// room in between. Its deadline still counts from the first submission.
    pub(crate) fn alter(
        &mut self,
        job: u64,
        change: &JobChange,
        step: &mut StepOutput,
    ) -> Result<CommandResult, CommandError> {
        if self.jobs.arrays.contains_key(&job) {
            return self.alter_array(job, change, step);
        }
        if let Some(waiting) = self.jobs.deferred.get(&job) {
            if change.max_at_once.is_some() && waiting.options.array.is_none() {
                return Err(CommandError::NoArray);
            }
            let submitted = waiting.options.submitted.unwrap_or(self.now);
            let changed = change.apply(waiting, self.now.since(submitted));
            return self.alter_deferred(job, change, changed, step);
        }
        let live = self.jobs.get(job).ok_or(CommandError::UnknownJob)?;
        // The numbers of attempts go on, so a job that was lost and waits again stays as it is.
        let waits = !live.has_nodes() && live.reserved_until.is_none() && live.attempt == 0;
        let submission = live.submission.as_deref().filter(|_| waits);
        let submission = submission.ok_or(CommandError::RunningUnalterable)?;
        if change.max_at_once.is_some() {
            return Err(CommandError::NoArray);
        }
        let mut changed = change.apply(submission, self.now.since(live.submitted));
        changed.options.submitted = Some(live.submitted);
        let changed = self.treated(&changed).into_owned();
        let (slot, held) = (live.slot, live.held);
        let was_promised =
            self.gate.view(self.now).job(slot).is_promised() && live.spec.sla.deadline.is_some();

        let input = GateInput::Cancel { job: slot };
        let mut trial = self.gate.fork();
        trial.handle(self.now, input, &mut Vec::new())?;
        let Some((task, old)) = self.jobs.remove(slot) else {
            return Err(CommandError::UnknownJob);
        };
        std::mem::swap(&mut self.gate, &mut trial);
        let answer = self.evaluate(self.now, &changed);
        std::mem::swap(&mut self.gate, &mut trial);
        let is_kept = match answer.admission {
            AdmissionState::Rejected(_) => false,
            AdmissionState::Accepted { .. } => true,
            AdmissionState::Queued
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Unpromised(_)
            | AdmissionState::Deferred => !was_promised || changed.deadline.is_none(),
        };
        if !is_kept {
            self.jobs.insert(task, slot, old);
            if was_promised {
                self.jobs.watch_deadline(task);
            }
            return Ok(CommandResult::Unaltered { answer });
        }
        self.gate.handle(self.now, input, &mut self.effects)?;
        // The job goes on.
        let is_end = |effect: &Effect| matches!(effect, Effect::Closed { job, .. } if *job == slot);
        self.effects.retain(|effect| !is_end(effect));
        self.look_ahead.invalidate(slot);
        self.apply_effects(step);
        step.changes
            .push(altered(job, change, &changed, &answer.spec));
        let place = step.changes.len();
        self.admit_as(job, &changed, answer.clone(), step);
        // A promise that was broken stays broken, whatever its user wants now.
        if let Some(entry) = old.entry {
            self.jobs.keep_entry(task, entry);
        }
        let decided = RowChange::Decided {
            job,
            answer: answer.clone(),
        };
        step.changes.insert(place, decided);
        if held && self.jobs.get(job).is_some_and(|live| !live.has_nodes()) {
            self.hold_or_release(job, None, true, step)?;
        }
        Ok(CommandResult::Altered { answer })
    }

    /// Changes a job that was not decided about yet, unless it could then never run.
    fn alter_deferred(
        &mut self,
        job: u64,
        change: &JobChange,
        changed: Submission,
        step: &mut StepOutput,
    ) -> Result<CommandResult, CommandError> {
        let Some(answer) = self.deferral_outcome(self.now, &changed) else {
            let forecast = self.forecast(&changed, Some(job));
            let answer = self.evaluate_without_offers(self.now, &changed, &forecast);
            return Ok(CommandResult::Unaltered { answer });
        };
        step.changes
            .push(altered(job, change, &changed, &answer.spec));
        self.jobs.deferred.insert(job, changed);
        Ok(CommandResult::Altered { answer })
    }
}

fn altered(job: u64, change: &JobChange, changed: &Submission, spec: &JobSpec) -> RowChange {
    RowChange::Altered {
        job,
        name: changed.name.clone(),
        estimate: spec.estimate,
        due: spec.due(),
        max_at_once: changed
            .options
            .array
            .as_ref()
            .and_then(|array| array.max_at_once),
        time_limit: change.time_limit,
        comment: change.comment.clone(),
    }
}
