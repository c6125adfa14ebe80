//! Followers: tasks of an array that the engine gets ahead of time, each to start on the nodes of a task
//! of the same array once that has ended.
//!
//! A decision takes as long as it takes to store it, and so does a start. Where tasks take less than that,
//! nodes would stand idle most of the time. So while all that waits is tasks of one array that are over
//! in a moment, the next of them are decided ahead of time and stored, and the engine starts each at the
//! end of the one before it. The gate keeps a follower held, and starts it when the end of the task
//! before it is reported.
//!
//! Followers are few, and go back to the queue if they have not started within a second, so that hardly any
//! job waits longer for them. Where nodes are shared, a follower takes the place of the task before it, with
//! its share. None exist where users pay or a shadow policy is followed, nor of tasks with needs besides processors
//! and memory. A task with a promise follows another one only while its deadline is far: the plan keeps no place for
//! what is held.

use serde::{Deserialize, Serialize};
use tollgate_gate::GateInput;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptReport, AttemptStatus, Instant, JobId, Market, NodeRange, Span,
    TaskId,
};
use tollgate_policy::JobPhase;

use crate::array::ActiveArray;
use crate::clock::dated_within;
use crate::core::{Core, LOCAL_WORKER};
use crate::output::{AdmissionState, CommandError, EngineAction, RowChange, StepOutput};
use crate::task_ranges::TaskRanges;

/// Maximum number of tasks that follow each other on a node: they bridge two decisions.
const MAX_FOLLOWERS: usize = 32;
/// The time for which followers are to keep a node busy.
const HORIZON: Span = Span::from_micros(100_000);
/// Run time of a task besides the run time of its program, about.
const START_COST: Span = Span::from_micros(1_000);
/// Mean run time from which on a start takes hardly any of the time.
const MAX_MEAN: Span = Span::from_micros(50_000);
/// Time after which a follower that has not started goes back to the queue.
const PATIENCE: Span = Span::from_secs(1);
/// Time before the last start in time from which on no task with a deadline follows another one.
const FAR: Span = Span::from_secs(60);
/// Number of ends after which the mean run time of an array's tasks is known.
const MIN_ENDS: u32 = 4;
/// The weight of the latest run time in the mean is one in this number.
const MEAN_OF: i64 = 4;

/// The fate of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FollowerFate {
    /// It starts, or waits in the queue if it was withdrawn.
    Run,
    /// It starts, or is held for its user if it was withdrawn.
    Hold,
    /// It is cancelled, whether it has started or not.
    Cancel,
}

/// A task that the engine starts after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Follower {
    /// The attempt before it.
    pub(crate) after: AttemptId,
    /// The time at which it is withdrawn.
    pub(crate) until: Instant,
    pub(crate) fate: FollowerFate,
}

/// How long the tasks of an array run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskPace {
    n_ends: u32,
    mean: Span,
}

impl TaskPace {
    fn count(&mut self, wall: Span) {
        let change = (wall.as_micros() - self.mean.as_micros()) / MEAN_OF;
        self.mean = match self.n_ends {
            0 => wall,
            _ => self.mean + Span::from_micros(change),
        };
        self.n_ends = self.n_ends.saturating_add(1);
    }

    /// Returns the number of followers that keep a node busy.
    fn n_followers(self) -> usize {
        if self.n_ends < MIN_ENDS || self.mean > MAX_MEAN {
            return 0;
        }
        let each = (self.mean + START_COST).as_micros();
        usize::try_from(HORIZON.as_micros() / each).map_or(MAX_FOLLOWERS, |n| n.min(MAX_FOLLOWERS))
    }
}

/// Followers before the gate.
impl Core {
    /// Counts the run time of a task that ended by itself.
    pub(crate) fn count_pace(&mut self, task: TaskId, wall: Span) {
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.pace.count(wall);
        }
    }

    /// Forgets how long the tasks of an array run, because one was taken back: they get no followers for a
    /// while.
    pub(crate) fn forget_pace(&mut self, job: u64) {
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            array.pace = TaskPace::default();
        }
    }

    /// Decides which tasks follow those that run.
    pub(crate) fn add_followers(&mut self, step: &mut StepOutput) {
        let rules = &self.rules;
        if self.shadow.is_some() || rules.market != Market::None {
            return;
        }
        let local = self.gate.worker(LOCAL_WORKER);
        let Some(local) = local.filter(|local| local.up && !local.drained) else {
            return;
        };
        let arrays = self.jobs.arrays.iter();
        let quick = arrays.filter(|(_, array)| array.can_be_followed());
        let quick: Vec<(u64, usize)> = quick
            .map(|(&job, array)| (job, array.pace.n_followers()))
            .collect();
        for (job, most) in quick {
            if self.do_others_wait(job) {
                continue;
            }
            for (first, nodes) in self.running_of(job, local.nodes) {
                let chain = self.jobs.followers_of(first);
                // Many at a time: each call of the engine waits for the disk.
                if chain.len() * 2 <= most {
                    let last = chain.last().copied().unwrap_or(first);
                    self.extend(last, most - chain.len(), &nodes, step);
                }
            }
        }
    }

    /// Returns whether the tasks of another job wait.
    fn do_others_wait(&self, job: u64) -> bool {
        let mut tasks = self.jobs.iter();
        let mut arrays = self.arrays();
        tasks.any(|(task, live)| task.job != job && !live.has_nodes() && !live.is_held_in_gate())
            || arrays.any(|(other, array)| other != job && array.has_waiting_group())
    }

    /// Returns the running attempts of an array that are on these nodes alone and may be followed, with their
    /// nodes.
    fn running_of(&self, job: u64, nodes: NodeRange) -> Vec<(AttemptId, Vec<NodeRange>)> {
        let view = self.gate.view(self.now);
        let is_within = |range: &NodeRange| {
            nodes.first <= range.first && range.first + range.len <= nodes.first + nodes.len
        };
        let running = self.jobs.tasks_of(job).filter(|(_, live)| {
            let slot = view.job(live.slot);
            let is_within = slot.placement().iter().all(is_within);
            live.is_running() && !slot.cancelling && is_within && view.may_be_followed(live.slot)
        });
        running
            .map(|(task, live)| {
                let placement = view.job(live.slot).placement().to_vec();
                (live.attempt_key(task), placement)
            })
            .collect()
    }

    /// Lets up to `n` further tasks of an array follow `last`.
    fn extend(
        &mut self,
        mut last: AttemptId,
        n: usize,
        nodes: &[NodeRange],
        step: &mut StepOutput,
    ) {
        let mut queued = self.queued_of(last.job).into_iter();
        for _ in 0..n {
            let Some(task) = queued
                .next()
                .or_else(|| self.part_follower(last.job))
                .or_else(|| self.admit_follower(last.job, step))
            else {
                return;
            };
            let Some(attempt) = self.follow(task, last) else {
                self.limit_queued_task(task, step);
                self.gate.request_pass(self.now);
                return;
            };
            step.actions.push(EngineAction::Start {
                attempt,
                nodes: nodes.iter().flat_map(|range| range.nodes()).collect(),
                after: Some(last),
            });
            last = attempt;
        }
    }

    /// Returns the tasks of an array that the gate queues. They come before those that it does not know yet.
    fn queued_of(&self, job: u64) -> Vec<TaskId> {
        let view = self.gate.view(self.now);
        let queued = self.jobs.tasks_of(job).filter(|(_, live)| {
            let slot = view.job(live.slot);
            let is_new = slot.accepted.is_none_or(|admission| admission.is_promised);
            slot.phase == JobPhase::Queued && is_new
        });
        queued.map(|(task, _)| task).collect()
    }

    /// Gives the next task of a waiting group of an array a slot of its own.
    fn part_follower(&mut self, job: u64) -> Option<TaskId> {
        let group = self.jobs.arrays.get(&job)?.waiting_group()?;
        let (slot, task) = (group.common.slot, group.tasks.first()?);
        if self.is_due_soon(slot) {
            return None;
        }
        self.part_group(slot, &TaskRanges::new(task, task))?;
        Some(TaskId { job, task })
    }

    /// Returns whether a job has to start soon to end by its deadline.
    fn is_due_soon(&self, slot: JobId) -> bool {
        let spec = self.gate.view(self.now).job(slot).spec;
        let latest_start = spec.due().map(|due| due - spec.estimate);
        latest_start.is_some_and(|latest| latest < self.now + FAR)
    }

    /// Submits the next task of an array to the gate, if it may enter it.
    fn admit_follower(&mut self, job: u64, step: &mut StepOutput) -> Option<TaskId> {
        let array = self.jobs.arrays.get(&job)?;
        let task = array.pending.first()?;
        if array.submission.deadline.is_some() {
            return None;
        }
        if self.evaluate_task(job, false, &mut None) != AdmissionState::Queued {
            return None;
        }
        self.admit_next_task(job, task, step);
        Some(TaskId { job, task })
    }

    /// Lets a queued task follow an attempt. Returns its own attempt; None if it has started before, is due soon, or
    /// would not end before a maintenance window.
    fn follow(&mut self, task: TaskId, after: AttemptId) -> Option<AttemptId> {
        let slot = self.jobs.get(task)?.slot;
        let view = self.gate.view(self.now);
        let job = view.job(slot);
        let room = view.maintenance().room(self.now);
        let has_started = job.accepted.is_some_and(|admission| !admission.is_promised);
        if has_started || self.is_due_soon(slot) || room < job.spec.estimate + PATIENCE {
            return None;
        }
        let input = GateInput::Hold { job: slot };
        self.gate.handle(self.now, input, &mut self.effects).ok()?;
        let until = self.now + PATIENCE;
        let follower = Follower {
            after,
            until,
            fate: FollowerFate::Run,
        };
        self.jobs.set_follower(task, follower);
        let live = self.jobs.get(task)?;
        Some(live.next_attempt_key(task))
    }

    /// Takes followers back that have not started in time.
    pub(crate) fn withdraw_late(&mut self, step: &mut StepOutput) {
        while let Some(task) = self.jobs.take_late_follower(self.now) {
            self.withdraw(task, step);
        }
    }

    /// Takes all followers back that have not started.
    pub(crate) fn withdraw_all(&self, step: &mut StepOutput) {
        for task in self.jobs.followers() {
            self.withdraw(task, step);
        }
    }

    fn withdraw(&self, task: TaskId, step: &mut StepOutput) {
        if let Some(live) = self.jobs.get(task) {
            let attempt = live.next_attempt_key(task);
            step.actions.push(EngineAction::Withdraw { attempt });
        }
    }

    /// Returns the actions to repeat for followers: their starts in order, or their ends.
    pub(crate) fn follower_actions(&self) -> Vec<EngineAction> {
        let roots = self.jobs.iter().filter(|(_, live)| live.is_running());
        let mut actions = Vec::new();
        for (task, live) in roots {
            let first = live.attempt_key(task);
            let view = self.gate.view(self.now);
            let placement = view.job(live.slot).placement();
            let nodes: Vec<_> = placement.iter().flat_map(|range| range.nodes()).collect();
            let mut after = first;
            for attempt in self.jobs.followers_of(first) {
                actions.push(EngineAction::Start {
                    attempt,
                    nodes: nodes.clone(),
                    after: Some(after),
                });
                after = attempt;
            }
        }
        actions
    }

    /// Returns the ends of followers that the engine may have missed.
    pub(crate) fn follower_ends(&self) -> impl Iterator<Item = EngineAction> {
        let now = self.now;
        self.jobs.iter().filter_map(move |(task, live)| {
            let follower = live.follows?;
            let attempt = live.next_attempt_key(task);
            match follower.fate {
                FollowerFate::Cancel => Some(EngineAction::Kill { attempt }),
                FollowerFate::Hold => Some(EngineAction::Withdraw { attempt }),
                FollowerFate::Run => {
                    (follower.until <= now).then_some(EngineAction::Withdraw { attempt })
                }
            }
        })
    }
}

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
        match follower.map(|follower| follower.fate) {
            Some(FollowerFate::Cancel) => {
                let _ = self.apply_input(GateInput::Cancel { job: slot }, step);
            }
            Some(FollowerFate::Hold) => {
                if let Some(live) = self.jobs.get_mut(task) {
                    live.hold_if_withdrawn = true;
                }
            }
            Some(FollowerFate::Run) | None => {}
        }
    }

    /// Queues a task again, or holds it for its user, that the engine has taken back after the end of the
    /// attempt before it was reported.
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
        let fate = self
            .jobs
            .take_from_chain(task)
            .map(|follower| follower.fate);
        let Some(live) = self.jobs.get_mut(task) else {
            return Err(CommandError::UnknownJob);
        };
        let slot = live.slot;
        if fate == Some(FollowerFate::Cancel) {
            return self.apply_input(GateInput::Cancel { job: slot }, step);
        }
        // The engine knows this attempt, and would not start it again.
        live.attempt += 1;
        let dated = dated_within(report, self.now, self.now);
        self.record_unstarted(dated, step);
        self.forget_pace(task.job);
        if fate == Some(FollowerFate::Hold) {
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
        let done = if may_run_again && follower.fate != FollowerFate::Cancel {
            self.queue_held_task(task, step)
        } else {
            if let Some(live) = self.jobs.get_mut(task) {
                live.is_lost = follower.fate != FollowerFate::Cancel;
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

impl ActiveArray {
    /// Returns whether tasks may follow those that run.
    fn can_be_followed(&self) -> bool {
        let options = &self.submission.options;
        let waits = match self.submission.deadline {
            None => !self.pending.is_empty(),
            Some(_) => self.has_waiting_group(),
        };
        waits
            && self.n_awaiting_turn() == 0
            && self.pace.n_followers() > 0
            && !options.needs_hosts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tasks_are_followed_by_many_and_long_tasks_by_none() {
        let pace = |walls: &[i64]| {
            let mut pace = TaskPace::default();
            walls
                .iter()
                .for_each(|&wall| pace.count(Span::from_micros(wall * 1_000)));
            pace.n_followers()
        };
        assert_eq!(pace(&[1, 1, 1]), 0);
        assert_eq!(pace(&[1, 1, 1, 1]), MAX_FOLLOWERS);
        assert_eq!(pace(&[19; 8]), 5);
        assert_eq!(pace(&[60; 8]), 0);
        assert_eq!(pace(&[1, 1, 1, 1, 1_000]), 0);
    }
}
