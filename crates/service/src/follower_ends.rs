//! The starts, ends and losses of tasks that the engine got ahead of time.

use tollgate_gate::GateInput;
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, AttemptStatus, NodeRange, TaskId};
use tollgate_policy::JobPhase;

use crate::clock::dated_within;
use crate::core::Core;
use crate::followers::{Follower, FollowerOutcome};
use crate::output::{CommandError, EngineAction, RowChange, StepOutput};

/// Ends of attempts that others follow, and of followers.
impl Core {
    /// Starts the follower of an attempt that has ended on these nodes.
    pub(crate) fn begin_follower(
        &mut self,
        ended: AttemptId,
        nodes: &[NodeRange],
        step: &mut StepOutput,
    ) {
        let Some(task) = self.jobs.follower_of(ended) else {
            return;
        };
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        let (slot, attempt) = (live.slot, live.next_attempt_key(task));
        let effects = &mut self.effects;
        if self
            .gate
            .start_follower(self.now, slot, nodes, effects)
            .is_err()
        {
            // The nodes have gone, or others have taken the place: with it goes all that was to follow.
            self.lose_followers_of(ended, step);
            return;
        }
        let follower = self.jobs.begin_follower(task);
        self.apply_effects(step);
        let is_own = |action: &&mut EngineAction| matches!(action, EngineAction::Start { attempt: started, .. } if *started == attempt);
        if let Some(action) = step.actions.iter_mut().rev().find(is_own) {
            *action = EngineAction::Continued {
                attempt,
                nodes: nodes.iter().flat_map(|range| range.nodes()).collect(),
            };
        }
        match follower.map(|follower| follower.outcome) {
            Some(FollowerOutcome::Cancel) => {
                let _ = self.apply_input(GateInput::Cancel { job: slot }, step);
            }
            Some(FollowerOutcome::Hold) => {
                if let Some(live) = self.jobs.get_mut(task) {
                    live.hold_if_withdrawn = true;
                }
            }
            Some(FollowerOutcome::Run) | None => {}
        }
    }

    /// Requeues a task, or holds it for its user, if the engine returned it after the end of the attempt
    /// before was reported.
    pub(crate) fn return_started(
        &mut self,
        task: TaskId,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        self.forget_pace(task.job);
        let live = self.jobs.get(task).ok_or(CommandError::UnknownJob)?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        self.apply_input(GateInput::Withdrawn { job, attempt }, step)?;
        if hold && self.hold_task(task, true, step).is_ok() {
            self.report_held(task.job, step);
        }
        Ok(())
    }

    /// Handles a report of a follower whose predecessor has not ended, as far as is known.
    pub(crate) fn report_follower(
        &mut self,
        report: &AttemptReport,
        follower: Follower,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let task = report.attempt.task();
        match &report.event {
            AttemptEvent::Ended(ended) if matches!(ended.status, AttemptStatus::NotStarted(_)) => {
                self.return_follower(report, step)
            }
            AttemptEvent::Lost { .. } => {
                self.lose_follower(task, step);
                Ok(())
            }
            // Engines report the end of the predecessor first. If it is missing, it is lost.
            AttemptEvent::Started(_) | AttemptEvent::Ended(_) => {
                let lost = AttemptReport {
                    attempt: follower.after,
                    event: AttemptEvent::Lost { at: self.now },
                };
                self.report(&lost, step)?;
                self.report(report, step)
            }
        }
    }

    /// Queues a follower that the engine has not started.
    fn return_follower(
        &mut self,
        report: &AttemptReport,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let task = report.attempt.task();
        let outcome = self
            .jobs
            .take_from_chain(task)
            .map(|follower| follower.outcome);
        let Some(live) = self.jobs.get_mut(task) else {
            return Err(CommandError::UnknownJob);
        };
        let slot = live.slot;
        if outcome == Some(FollowerOutcome::Cancel) {
            return self.apply_input(GateInput::Cancel { job: slot }, step);
        }
        // The engine knows this attempt, and would not start it again.
        live.attempt += 1;
        let dated = dated_within(report, self.now, self.now);
        self.record_unstarted(dated, step);
        self.forget_pace(task.job);
        if outcome == Some(FollowerOutcome::Hold) {
            self.mark_held(task, true);
            self.report_held(task.job, step);
            return Ok(());
        }
        self.queue_held_task(task, step)
    }

    /// Handles the loss of a follower, which may have started: it goes back to the queue if it may run
    /// again, and is lost otherwise.
    pub(crate) fn lose_follower(&mut self, task: TaskId, step: &mut StepOutput) {
        let follower = self.jobs.take_from_chain(task);
        let array = self.jobs.arrays.get(&task.job);
        let (Some(array), Some(follower)) = (array, follower) else {
            return;
        };
        let may_run_again = array.submission.retry == tollgate_gate::OnEviction::Requeue;
        let Some(live) = self.jobs.get_mut(task) else {
            return;
        };
        live.attempt += 1;
        let (slot, attempt) = (live.slot, live.attempt_key(task));
        let lost = AttemptReport {
            attempt,
            event: AttemptEvent::Lost { at: self.now },
        };
        self.record_unstarted(lost, step);
        step.actions.push(EngineAction::Kill { attempt });
        let done = if may_run_again && follower.outcome != FollowerOutcome::Cancel {
            self.queue_held_task(task, step)
        } else {
            if let Some(live) = self.jobs.get_mut(task) {
                live.is_lost = follower.outcome != FollowerOutcome::Cancel;
            }
            self.apply_input(GateInput::Cancel { job: slot }, step)
        };
        debug_assert!(done.is_ok(), "a follower is held: {done:?}");
    }

    /// Records an attempt at a follower that is over and whose start is not known. Later changes of its task, as its
    /// cancellation, are recorded with its last attempt.
    fn record_unstarted(&mut self, report: AttemptReport, step: &mut StepOutput) {
        if let Some(array) = self.jobs.arrays.get_mut(&report.attempt.job) {
            array.count_unstarted();
        }
        step.changes.push(RowChange::Started {
            attempt: report.attempt,
            of_array: true,
        });
        step.changes.push(RowChange::AttemptReported(report));
    }

    /// Loses all that follows an attempt.
    pub(crate) fn lose_followers_of(&mut self, attempt: AttemptId, step: &mut StepOutput) {
        while let Some(task) = self.jobs.follower_of(attempt) {
            self.lose_follower(task, step);
        }
    }

    /// Checks that each follower is held in the gate and known by the attempt before it, which runs or follows another
    /// one.
    pub(crate) fn check_followers(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        let view = self.gate.view(self.now);
        for (task, live) in self.jobs.iter() {
            let Some(follower) = live.follows else {
                continue;
            };
            let is_linked = self.jobs.follower_of(follower.after) == Some(task);
            let before = self.jobs.get(follower.after.task());
            let is_open = before.is_some_and(|before| before.is_ordered(follower.after));
            if !is_linked || !is_open || view.job(live.slot).phase != JobPhase::Held {
                return Err(tollgate_gate::InvariantViolation(format!(
                    "job {}, task {} follows {}, which is over or does not know it, or is not held",
                    task.job, task.task, follower.after
                )));
            }
        }
        Ok(())
    }
}
