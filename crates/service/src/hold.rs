//! Reserved quotes: promises that are not claimed yet and expire; and user holds.
//!
//! To the gate a reserved quote is an ordinary job: it takes its place in the plan, and its nodes
//! if the policy starts it at once. Nothing runs for it and nothing is charged until it is claimed.

use tollgate_gate::{GateInput, InputError};
use tollgate_model::{AttemptId, Span, TaskId};

use crate::core::Core;
use crate::followers::{Follower, FollowerOutcome};
use crate::output::{CommandError, EngineAction, RowChange, StepOutput};
use crate::task_ranges::TaskRanges;

impl Core {
    /// Turns a reserved quote into a job.
    pub(crate) fn claim(&mut self, job: u64, step: &mut StepOutput) -> Result<(), CommandError> {
        let now = self.now;
        let reserved = self.jobs.get(job);
        let done_s = reserved.and_then(|live| self.shared_work_s(live, now));
        let live = self.jobs.claim(job).ok_or(CommandError::NoQuote)?;
        let (slot, key) = (live.slot, live.attempt_key(job.into()));
        self.look_ahead.invalidate(slot);
        step.changes.push(RowChange::Claimed { job });
        if live.has_nodes() {
            live.started = Some(now);
            live.work_before = Span::from_secs_f64(done_s.unwrap_or(0.0));
            self.note_order(job.into());
            self.push_start(key, slot, step);
            let placement = self.gate.view(now).job(slot).placement().to_vec();
            for node in placement.iter().flat_map(|range| range.nodes()) {
                self.set_shares(node, step);
            }
        }
        Ok(())
    }

    /// Cancels a job, tasks of it, or a reserved quote.
    pub(crate) fn cancel(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        if self.jobs.arrays.contains_key(&job) {
            return self.cancel_tasks(job, tasks, step);
        }
        match (self.jobs.deferred.contains_key(&job), tasks) {
            (true, Some(tasks)) => self.cancel_deferred_tasks(job, tasks, step),
            (true, None) => self.cancel_deferred(job, step),
            (false, Some(_)) => Err(self.no_array(job)),
            (false, None) => self.cancel_task(job.into(), step),
        }
    }

    /// Returns why a command for tasks of a job that is no unfinished array changes nothing.
    fn no_array(&self, job: u64) -> CommandError {
        match self.jobs.user_of(job) {
            Some(_) => CommandError::NoArray,
            None => CommandError::UnknownJob,
        }
    }

    pub(crate) fn cancel_task(
        &mut self,
        task: TaskId,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self.jobs.get_mut(task).ok_or(CommandError::UnknownJob)?;
        let attempt = live.next_attempt_key(task);
        if let Some(follower) = &mut live.follows {
            // It may have started. The engine reports its end in either case.
            follower.outcome = FollowerOutcome::Cancel;
            step.actions.push(EngineAction::Kill { attempt });
            return Ok(());
        }
        let (slot, attempt) = (live.slot, live.gate_attempt);
        let nothing_runs = live.reserved_until.is_some() && live.has_nodes();
        self.apply_input(GateInput::Cancel { job: slot }, step)?;
        if nothing_runs {
            // No engine will report the end of this attempt.
            self.apply_input(GateInput::Evicted { job: slot, attempt }, step)?;
        }
        Ok(())
    }

    /// Holds or releases a job, or tasks of it.
    pub(crate) fn hold_or_release(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        if self.jobs.arrays.contains_key(&job) {
            return self.hold_tasks(job, tasks, hold, step);
        }
        match (self.jobs.deferred.contains_key(&job), tasks) {
            (true, Some(tasks)) => return self.hold_deferred_tasks(job, tasks, hold, step),
            (true, None) => return self.hold_deferred(job, hold, step),
            (false, Some(_)) => return Err(self.no_array(job)),
            (false, None) => self.hold_task(job.into(), hold, step)?,
        }
        step.changes.push(match hold {
            true => RowChange::Held { job },
            false => RowChange::Queued { job },
        });
        Ok(())
    }

    pub(crate) fn hold_task(
        &mut self,
        task: TaskId,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self.jobs.get_mut(task).ok_or(CommandError::UnknownJob)?;
        let (slot, attempt) = (live.slot, live.next_attempt_key(task));
        if let Some(follower) = &mut live.follows {
            return hold_follower(follower, attempt, hold, step);
        }
        if !hold && std::mem::take(&mut live.hold_if_withdrawn) {
            return Ok(());
        }
        match (hold, live.held) {
            (true, _) if live.awaits_turn => {
                self.set_awaits_turn(task, false);
                self.mark_held(task, true);
                Ok(())
            }
            // Its user wants what the site began.
            (true, true) if self.jobs.cancel_launch_retry(task) => Ok(()),
            (true, _) => {
                self.apply_input(GateInput::Hold { job: slot }, step)?;
                self.mark_held(task, true);
                Ok(())
            }
            (false, true) => {
                self.jobs.cancel_launch_retry(task);
                if let Some(live) = self.jobs.get_mut(task) {
                    live.failed_launches = 0;
                }
                self.mark_held(task, false);
                self.queue_held_task(task, step)
            }
            (false, false) => Err(CommandError::Gate(InputError::NotHeld)),
        }
    }

    pub(crate) fn mark_held(&mut self, task: TaskId, held: bool) {
        if let Some(live) = self.jobs.get_mut(task) {
            live.held = held;
        }
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.count_hold(held);
        }
    }

    /// Drops the expired quotes.
    pub(crate) fn expire_due(&mut self, step: &mut StepOutput) {
        while let Some((lapses, job)) = self.jobs.next_expiry() {
            if lapses > self.now || self.cancel_task(job.into(), step).is_err() {
                return;
            }
        }
    }
}

/// Holds a follower, which may have started, or no longer does so.
fn hold_follower(
    follower: &mut Follower,
    attempt: AttemptId,
    hold: bool,
    step: &mut StepOutput,
) -> Result<(), CommandError> {
    let (from, to) = match hold {
        true => (FollowerOutcome::Run, FollowerOutcome::Hold),
        false => (FollowerOutcome::Hold, FollowerOutcome::Run),
    };
    if follower.outcome != from {
        return Err(CommandError::Gate(match hold {
            true => InputError::NotQueued,
            false => InputError::NotHeld,
        }));
    }
    follower.outcome = to;
    if hold {
        step.actions.push(EngineAction::Withdraw { attempt });
    }
    Ok(())
}
