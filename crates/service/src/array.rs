//! Arrays: jobs of many tasks that differ only in their index.
//!
//! An array is one row and a range of indices; a task is materialised when it is submitted to the
//! gate. If a promise is possible, all tasks with a deadline are submitted together with the array,
//! and each is promised or rejected. All other tasks follow as earlier ones start. So a large array
//! does not block the queue, and the queue's length is bounded by the number of nodes.

use serde::{Deserialize, Serialize};
use tollgate_gate::{Effect, GateInput, JobEnding, JobPrediction};
use tollgate_model::{Credits, Instant, JobId, JobSpec, Probability, Reason, Span, TaskId, UserId};

use crate::Core;
use crate::admission::AdmissionCandidate;
use crate::command::{ArraySpec, Otherwise, Submission};
use crate::followers::TaskPace;
use crate::jobs::ActiveTask;
use crate::output::{
    AdmissionState, CommandError, RejectReason, RowChange, StepOutput, SubmitOutcome,
    TaskGroupOutcome,
};
use crate::promise::{LatePromises, PromiseOutcome};
use crate::task_ranges::TaskRanges;

/// Maximum number of unpromised tasks of an array in the gate, per node.
const MAX_TASKS_PER_NODE: u32 = 8;
/// The probability of a promise is computed again after another eighth of the tasks so far.
const PREDICTION_INTERVAL: u32 = 8;

/// An array with unfinished tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveArray {
    /// The submission of one of its tasks that are not materialised.
    pub(crate) submission: Submission,
    /// Whether these tasks run without a promise because their deadline could not be promised.
    unpromised: bool,
    /// Tasks that are not materialised.
    pub(crate) pending: TaskRanges,
    /// Tasks that are not materialised and held by their user.
    pub(crate) held_pending: TaskRanges,
    max_at_once: Option<u32>,
    /// The number of tasks in the gate.
    pub(crate) before_gate: u32,
    /// The number of those that follow others.
    pub(crate) n_followers: u32,
    /// How long its tasks run.
    pub(crate) pace: TaskPace,
    /// The counts of its tasks, except for those that are not materialised or only queued.
    counts: TaskCounts,
    /// Whether the counts have changed since they were last stored.
    changed: bool,
    pub(crate) late_promises: LatePromises,
}

/// Counts of the tasks of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Waiting tasks.
    pub queued: u64,
    /// Tasks held by their user.
    pub held: u64,
    /// Running tasks.
    pub running: u32,
    /// Tasks that ended by themselves.
    pub finished: u32,
    /// Cancelled tasks.
    pub cancelled: u32,
    /// Tasks with an unknown end.
    pub lost: u32,
    /// Rejected tasks.
    pub rejected: u32,
    /// Tasks whose promise was kept.
    pub kept: u32,
    /// Tasks whose promise was broken, also unfinished ones.
    pub broken: u32,
    /// Tasks whose promise became void.
    pub void: u32,
    /// Finished or lost tasks that ran without a promise because their deadline could not be promised.
    pub unpromised: u32,
    /// Total time from submission to start of the tasks with a kept promise.
    pub wait: Span,
    /// The number of started attempts.
    pub attempts: u32,
    /// Maximum total price of the accepted tasks.
    pub price: Credits,
    /// The greatest exit code of the tasks that ended by themselves, in the shell's encoding.
    pub max_exit_code: Option<u8>,
}

impl ActiveArray {
    pub(crate) fn new(submission: &Submission, plan: &ArraySpec, now: Instant) -> Self {
        let mut submission = submission.clone();
        // The tasks are in the queue now.
        submission.options.array = None;
        submission.options.submitted.get_or_insert(now);
        Self {
            submission,
            unpromised: false,
            pending: plan.tasks.clone(),
            held_pending: TaskRanges::default(),
            max_at_once: plan.max_at_once,
            before_gate: 0,
            n_followers: 0,
            pace: TaskPace::default(),
            counts: TaskCounts::default(),
            changed: true,
            late_promises: LatePromises::default(),
        }
    }

    /// Returns the number of tasks that are not materialised.
    pub fn n_pending(&self) -> u64 {
        self.pending.len() + self.held_pending.len()
    }

    /// Returns the number of unmaterialised tasks: the waiting ones, and those held by their user.
    pub fn n_pending_and_held(&self) -> (u64, u64) {
        (self.pending.len(), self.held_pending.len())
    }

    /// Returns whether a task is not materialised.
    pub fn is_pending(&self, task: u32) -> bool {
        self.pending.contains(task) || self.held_pending.contains(task)
    }

    /// Returns the counts of its tasks.
    pub fn counts(&self) -> TaskCounts {
        let waits = u64::from(self.before_gate - self.counts.running);
        TaskCounts {
            queued: self.pending.len() + waits - self.n_held_at_gate(),
            held: self.held_pending.len() + self.n_held_at_gate(),
            ..self.counts.clone()
        }
    }

    /// Returns the number of held tasks in the gate.
    fn n_held_at_gate(&self) -> u64 {
        self.counts.held
    }

    pub(crate) fn count_hold(&mut self, held: bool) {
        self.changed = true;
        if held {
            self.counts.held += 1;
        } else {
            self.counts.held -= 1;
        }
    }

    pub(crate) fn add_price(&mut self, price: Credits) {
        self.changed = true;
        self.counts.price += price;
    }

    /// Counts the ending of a promise; `wait` is the time from submission to start.
    pub(crate) fn count_promise(&mut self, outcome: PromiseOutcome, wait: Span) {
        self.changed = true;
        match outcome {
            PromiseOutcome::Kept => {
                self.counts.kept += 1;
                self.counts.wait += wait;
            }
            PromiseOutcome::Broken => self.counts.broken += 1,
            PromiseOutcome::Void => self.counts.void += 1,
            PromiseOutcome::Unpromised => self.counts.unpromised += 1,
        }
    }

    pub(crate) fn count_start(&mut self) {
        self.changed = true;
        self.counts.running += 1;
        self.counts.attempts += 1;
    }

    /// Counts an attempt that was lost before its start was known.
    pub(crate) fn count_lost_attempt(&mut self) {
        self.changed = true;
        self.counts.attempts += 1;
    }

    pub(crate) fn count_stop(&mut self) {
        self.changed = true;
        self.counts.running -= 1;
    }

    pub(crate) fn remove_from_gate(&mut self, live: &ActiveTask) {
        self.changed = true;
        self.before_gate -= 1;
        self.counts.running -= u32::from(live.has_nodes());
        self.counts.held -= u64::from(live.held);
    }

    fn is_over(&self) -> bool {
        self.before_gate == 0 && self.n_pending() == 0
    }

    /// Returns whether another unpromised task may be submitted to the gate.
    fn can_add_task(&self, nodes: u32) -> bool {
        let before_gate = self.before_gate - self.n_followers;
        let wait = before_gate - self.counts.running - self.counts.held as u32;
        let most = self.max_at_once.unwrap_or(u32::MAX);
        before_gate < most.min(nodes.max(1) * MAX_TASKS_PER_NODE) && wait <= nodes
    }

    /// Returns whether all tasks ended with success.
    fn succeeded(&self) -> bool {
        let tally = &self.counts;
        tally.cancelled + tally.lost + tally.rejected == 0 && tally.max_exit_code.unwrap_or(0) == 0
    }

    fn ending(&self) -> JobEnding {
        match &self.counts {
            tally if tally.lost > 0 => JobEnding::Lost,
            tally if tally.cancelled > 0 => JobEnding::Cancelled,
            _ => JobEnding::Finished,
        }
    }
}

impl Core {
    /// Registers an array whose first task has the outcome `first`, and submits tasks to the gate.
    /// Returns the outcomes of all tasks.
    pub(crate) fn admit_array(
        &mut self,
        job: u64,
        submission: &Submission,
        plan: &ArraySpec,
        first: &SubmitOutcome,
        step: &mut StepOutput,
    ) -> Vec<TaskGroupOutcome> {
        let array = ActiveArray::new(submission, plan, self.now);
        self.jobs.arrays.insert(job, array);
        if self.decides_together(submission) {
            for group in &first.groups {
                self.admit_group(job, group, first.spec, step);
            }
            return first.groups.clone();
        }
        let mut parts = Vec::new();
        let mut standing = first.admission.clone();
        let mut prospect = first.prediction;
        let mut look_at = 1;
        for n in 1.. {
            let Some((task, room)) = self.next_task(job) else {
                break;
            };
            let promised = submission.deadline.is_some() && plan.max_at_once.is_none();
            let may_come =
                room || (promised && matches!(standing, AdmissionState::Accepted { .. }));
            if let AdmissionState::Rejected(refusals) = &standing {
                if let Some(unpromised) = self.go_on_unpromised(job, refusals) {
                    standing = unpromised;
                    break;
                }
                let rest = self.drop_pending(job, refusals, step);
                push_group(&mut parts, rest, &standing);
                break;
            }
            if !may_come {
                break;
            }
            self.admit_next_task(job, task, step);
            push_group(&mut parts, TaskRanges::new(task, task), &standing);
            let look = n >= look_at;
            if look {
                look_at = n + n / PREDICTION_INTERVAL + 1;
            }
            standing = self.evaluate_task(job, look, &mut prospect);
        }
        if let Some(array) = self.jobs.arrays.get(&job) {
            let waiting = match standing {
                AdmissionState::Unpromised(_) => &standing,
                AdmissionState::Accepted { .. }
                | AdmissionState::Queued
                | AdmissionState::Waitlisted { .. }
                | AdmissionState::Deferred
                | AdmissionState::Rejected(_) => &AdmissionState::Queued,
            };
            push_group(&mut parts, array.pending.clone(), waiting);
        }
        parts
    }

    /// Submits tasks that were decided together.
    fn admit_group(
        &mut self,
        job: u64,
        group: &TaskGroupOutcome,
        spec: JobSpec,
        step: &mut StepOutput,
    ) {
        match &group.admission {
            AdmissionState::Unpromised(_) => self.withdraw_deadline(job),
            AdmissionState::Rejected(reasons) => self.drop_tasks(job, &group.tasks, reasons, step),
            AdmissionState::Accepted { .. }
            | AdmissionState::Queued
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Deferred => self.admit_together(job, &group.tasks, spec, step),
        }
    }

    /// Lets the unmaterialised tasks of an array run without a promise if its user wants that, and they
    /// can; returns their state then.
    fn go_on_unpromised(&mut self, job: u64, reasons: &[RejectReason]) -> Option<AdmissionState> {
        let array = self.jobs.arrays.get(&job)?;
        let has_deadline = array.submission.deadline.is_some();
        if array.submission.options.otherwise != Otherwise::Run || !has_deadline {
            return None;
        }
        let before = array.submission.clone();
        self.withdraw_deadline(job);
        if self.evaluate_task(job, false, &mut None).may_run() {
            return Some(AdmissionState::Unpromised(reasons.to_vec()));
        }
        let array = self.jobs.arrays.get_mut(&job)?;
        (array.submission, array.unpromised) = (before, false);
        None
    }

    /// Lets the unmaterialised tasks of an array run without a promise.
    fn withdraw_deadline(&mut self, job: u64) {
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            array.submission = array.submission.without_deadline();
            array.unpromised = true;
        }
    }

    /// Returns whether the policy decides on all tasks of an array together. Only promises are made for
    /// all of them at once.
    pub(crate) fn decides_together(&self, submission: &Submission) -> bool {
        let has_promise = submission.deadline.is_some();
        has_promise && submission.options.n_together() > 1 && self.rules.policy.decides_arrays()
    }

    /// Submits tasks of an array to the gate, which has one decision for all of them.
    fn admit_together(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        spec: JobSpec,
        step: &mut StepOutput,
    ) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.remove(tasks);
        let submission = array.submission.clone();
        let asked = self.classes.add(&(&submission).into());
        let limit = submission.options.time_limit;
        let forecast = self.forecast_job(UserId(submission.user), &asked, limit);
        let candidate = AdmissionCandidate::new(&submission, spec, &forecast);
        let (for_policy, distribution) = self.policy_request(&candidate);
        let live = ActiveTask::new(&submission, asked, forecast, spec);
        let input = GateInput::SubmittedArray {
            spec: for_policy,
            count: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            on_eviction: submission.retry,
            forecast: Some(distribution),
        };
        let answered = self.gate.handle(self.now, input, &mut self.effects);
        debug_assert!(
            answered.is_ok(),
            "the array was probed just now: {answered:?}"
        );
        let slots = self.effects.iter().filter_map(|effect| match effect {
            Effect::Notify { job, .. } => Some(*job),
            Effect::Start { .. }
            | Effect::SharesChanged { .. }
            | Effect::GroupParted { .. }
            | Effect::Kill { .. }
            | Effect::Book { .. }
            | Effect::Closed { .. } => None,
        });
        let slots: Vec<JobId> = slots.collect();
        for (task, slot) in tasks.numbers().zip(slots) {
            self.jobs.insert(TaskId { job, task }, slot, live.clone());
            self.look_ahead.invalidate(slot);
        }
        self.apply_effects(step);
    }

    /// Submits the tasks of arrays that may now enter the gate. Returns whether there were any.
    pub(crate) fn materialise_tasks(&mut self, step: &mut StepOutput) -> bool {
        let hungry = self.jobs.arrays.iter();
        let hungry = hungry.filter(|(_, array)| !array.pending.is_empty());
        let hungry: Vec<u64> = hungry.map(|(&job, _)| job).collect();
        let mut fed = false;
        for job in hungry {
            while let Some((task, true)) = self.next_task(job) {
                fed = true;
                let standing = self.evaluate_task(job, true, &mut None);
                if let AdmissionState::Rejected(refusals) = &standing {
                    if self.go_on_unpromised(job, refusals).is_some() {
                        continue;
                    }
                    // The tasks behind this one would get the same answer, as a rejection changes
                    // nothing.
                    self.drop_pending(job, refusals, step);
                    self.finish_array(job, step);
                    break;
                }
                self.admit_next_task(job, task, step);
            }
        }
        fed
    }

    /// Returns the next task, and whether it may enter the gate without a promise.
    fn next_task(&self, job: u64) -> Option<(u32, bool)> {
        let array = self.jobs.arrays.get(&job)?;
        let task = array.pending.first()?;
        Some((task, array.can_add_task(self.gate.view(self.now).n_nodes())))
    }

    pub(crate) fn admit_next_task(&mut self, job: u64, task: u32, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.pop_first();
        let (submission, unpromised) = (array.submission.clone(), array.unpromised);
        let forecast = self.forecast(&submission);
        let (estimate, _) = forecast.estimate();
        let spec = self.spec_of(&submission, estimate, self.now);
        let task = TaskId { job, task };
        self.admit_task(task, &submission, spec, None, step);
        if unpromised {
            self.mark_unpromised(task);
        }
    }

    /// Returns the outcome of the next task. The probability of keeping its deadline is computed if
    /// `look`, and otherwise taken from the task before.
    pub(crate) fn evaluate_task(
        &mut self,
        job: u64,
        look: bool,
        prospect: &mut Option<JobPrediction>,
    ) -> AdmissionState {
        let Some(array) = self.jobs.arrays.get(&job) else {
            return AdmissionState::Queued;
        };
        let submission = array.submission.clone();
        let forecast = self.forecast(&submission);
        let (estimate, _) = forecast.estimate();
        let spec = self.spec_of(&submission, estimate, self.now);
        let candidate = AdmissionCandidate::new(&submission, spec, &forecast);
        let standing = self.admission_state(self.now, &candidate);
        let accepted = matches!(standing, AdmissionState::Accepted { .. });
        let threshold = self.confidence_threshold(&submission, accepted);
        let (Some(threshold), Some(_)) = (threshold, submission.deadline) else {
            return standing;
        };
        if matches!(standing, AdmissionState::Rejected(_)) {
            return standing;
        }
        if look {
            *prospect = self.predict_candidate(self.now, &candidate);
        }
        let probability = prospect.and_then(|prospect| prospect.probability);
        let probability = probability.or_else(|| candidate.best_case_probability());
        match probability.filter(|p: &Probability| p.as_f64() < threshold.min_probability()) {
            None => standing,
            Some(probability) => AdmissionState::Rejected(vec![RejectReason::Confidence {
                probability,
                threshold,
            }]),
        }
    }

    /// Rejects the unmaterialised tasks of an array, and returns them.
    fn drop_pending(
        &mut self,
        job: u64,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) -> TaskRanges {
        let array = self.jobs.arrays.get(&job);
        let tasks = array.map_or_else(TaskRanges::default, |array| array.pending.clone());
        self.drop_tasks(job, &tasks, refusals, step);
        tasks
    }

    /// Rejects unmaterialised tasks of an array.
    fn drop_tasks(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.remove(tasks);
        array.counts.rejected += tasks.len() as u32;
        array.changed = true;
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks: tasks.clone(),
            reasons: refusals.to_vec(),
        });
    }

    /// Rejects a waiting task.
    pub(crate) fn reject_task(&mut self, task: TaskId, reason: Reason, step: &mut StepOutput) {
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.counts.rejected += 1;
        }
        step.changes.push(RowChange::TasksDropped {
            job: task.job,
            tasks: TaskRanges::new(task.task, task.task),
            reasons: vec![RejectReason::Policy(reason)],
        });
        self.finish_array(task.job, step);
    }

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
        let tally = &mut array.counts;
        match ending {
            JobEnding::Finished => {
                tally.finished += 1;
                tally.max_exit_code = tally.max_exit_code.max(live.exit_code);
            }
            JobEnding::Cancelled => tally.cancelled += 1,
            JobEnding::Lost => tally.lost += 1,
        }
        self.end_promise(task, live, ending, step);
        if live.attempt == 0 {
            step.changes.push(RowChange::TasksDropped {
                job: task.job,
                tasks: TaskRanges::new(task.task, task.task),
                reasons: Vec::new(),
            });
        } else {
            let attempt = live.attempt_key(task);
            step.changes.push(RowChange::TaskEnded { attempt, ending });
        }
        self.finish_array(task.job, step);
    }

    /// Ends an array without unfinished tasks.
    pub(crate) fn finish_array(&mut self, job: u64, step: &mut StepOutput) {
        let over = |array: &&mut ActiveArray| array.is_over();
        let Some(array) = self.jobs.arrays.get_mut(&job).filter(over) else {
            return;
        };
        let (ending, succeeded) = (array.ending(), array.succeeded());
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
                reasons: Vec::new(),
            });
        }
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
        for task in self.tasks_before_gate(job, tasks) {
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
        step.changes.push(RowChange::HeldTasks { job, tasks });
    }

    fn tasks_before_gate(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<TaskId> {
        let all = self.jobs.tasks_of(job).map(|(task, _)| task);
        all.filter(|task| tasks.is_none_or(|tasks| tasks.contains(task.task)))
            .collect()
    }
}

impl TaskCounts {
    /// Returns the counts of an array without any materialised task: all tasks are cancelled or,
    /// with `rejected`, rejected.
    pub(crate) fn never_started(submission: &Submission, rejected: bool) -> Option<Self> {
        submission.options.array.as_ref()?;
        let tasks = submission.n_tasks() as u32;
        Some(Self {
            rejected: if rejected { tasks } else { 0 },
            cancelled: if rejected { 0 } else { tasks },
            ..Self::default()
        })
    }
}

fn intersect(all: &TaskRanges, tasks: Option<&TaskRanges>) -> TaskRanges {
    match tasks {
        None => all.clone(),
        Some(tasks) => all.intersection(tasks),
    }
}

/// Adds tasks to the last group of tasks with the same outcome.
fn push_group(parts: &mut Vec<TaskGroupOutcome>, tasks: TaskRanges, standing: &AdmissionState) {
    if tasks.is_empty() {
        return;
    }
    match (parts.last_mut(), standing) {
        (Some(part), standing) if part.admission.is_same_decision(standing) => {
            part.tasks.add(&tasks);
            part.admission.merge(standing);
        }
        _ => parts.push(TaskGroupOutcome {
            tasks,
            admission: standing.clone(),
        }),
    }
}

impl TaskGroupOutcome {
    /// Returns the outcome of these tasks, each of which has the state `of_each`.
    pub(crate) fn new(tasks: &TaskRanges, of_each: &AdmissionState) -> Self {
        Self {
            tasks: tasks.clone(),
            admission: of_each.times(tasks.len()),
        }
    }
}

impl AdmissionState {
    /// Returns the state of this many such tasks.
    fn times(&self, tasks: u64) -> Self {
        match self {
            Self::Accepted { price } => Self::Accepted {
                price: Credits::from_f64(price.as_f64() * tasks as f64),
            },
            Self::Queued
            | Self::Waitlisted { .. }
            | Self::Unpromised(_)
            | Self::Deferred
            | Self::Rejected(_) => self.clone(),
        }
    }

    /// Returns whether the job may run as things stand.
    pub(crate) fn may_run(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::Queued | Self::Unpromised(_) => true,
            Self::Waitlisted { .. } | Self::Deferred | Self::Rejected(_) => false,
        }
    }

    /// Returns whether both states are the same: accepted, waiting, or rejected for the same
    /// reasons.
    fn is_same_decision(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Accepted { .. }, Self::Accepted { .. }) => true,
            (one, other) => one == other,
        }
    }

    fn merge(&mut self, other: &Self) {
        if let (Self::Accepted { price }, Self::Accepted { price: more }) = (self, other) {
            *price += *more;
        }
    }
}
