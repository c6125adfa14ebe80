//! Followers: tasks of an array that the engine gets ahead of time, each to start on the nodes of a task
//! of the same array once that has ended.
//!
//! A decision takes as long as it takes to store it, and so does a start. Where tasks take less than that,
//! nodes would stand idle most of the time. Sometimes all that waits is tasks of one array that are over in a
//! moment. Then the next of them are decided ahead of time and stored, and the engine starts each at the end
//! of the one before it. The gate keeps a follower held, and starts it when the end of the task before it is
//! reported.
//!
//! Followers are few, and go back to the queue if they have not started within a second, so that hardly any
//! job waits longer for them. Where nodes are shared, a follower takes the place of the task before it, with
//! its share. None exist where users pay or a shadow policy is followed, nor of tasks with needs besides processors
//! and memory. A task with a promise follows another one only while its deadline is far: the plan keeps no place for
//! what is held.

use serde::{Deserialize, Serialize};
use tollgate_gate::GateInput;
use tollgate_model::{AttemptId, Instant, JobId, Market, NodeRange, Span, TaskId};
use tollgate_policy::JobPhase;

use crate::array::ActiveArray;
use crate::core::{Core, LOCAL_WORKER};
use crate::output::{AdmissionState, EngineAction, StepOutput};
use crate::task_pace::TaskPace;
use crate::task_ranges::TaskRanges;

/// Time after which a follower that has not started goes back to the queue.
const PATIENCE: Span = Span::from_secs(1);
/// Time before the last start in time from which on no task with a deadline follows another one.
const FAR: Span = Span::from_secs(60);

/// The fate of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FollowerOutcome {
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
    pub(crate) outcome: FollowerOutcome,
}

/// Followers before the gate.
impl Core {
    /// Counts the run time of a task that ended by itself.
    pub(crate) fn count_pace(&mut self, task: TaskId, wall: Span) {
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.pace.count(wall);
        }
    }

    /// Forgets the run times of the tasks of an array, because the engine returned one: the tasks get no
    /// followers for a while.
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
            outcome: FollowerOutcome::Run,
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
            match follower.outcome {
                FollowerOutcome::Cancel => Some(EngineAction::Kill { attempt }),
                FollowerOutcome::Hold => Some(EngineAction::Withdraw { attempt }),
                FollowerOutcome::Run => {
                    (follower.until <= now).then_some(EngineAction::Withdraw { attempt })
                }
            }
        })
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
