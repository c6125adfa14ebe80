//! Arrays: many tasks that are the same but for their numbers.
//!
//! An array is one row and a range of numbers; a task comes into being when it is put before the gate.
//! Tasks with a deadline are, all at once, when the array is handed in: each is promised something,
//! or kept out. The others, and those that nothing can be promised before their start, come as those
//! before them start, so that an array stands in nobody's way with all of its tasks, and a queue
//! stays as short as the machine is small.

use serde::{Deserialize, Serialize};
use tollgate_gate::JobEnding;
use tollgate_model::{Credits, Instant, Probability, Reason, Span};

use super::Core;
use super::admission::AdmissionCandidate;
use super::command::{ArraySpec, Submission, TaskKey};
use super::jobs::ActiveTask;
use super::output::{
    AdmissionState, CommandError, JobPrediction, RejectReason, RowChange, StepOutput,
    SubmitOutcome, TaskGroupOutcome,
};
use super::rules;
use super::task_ranges::TaskRanges;

/// Tasks of an array without a promise that are before the gate at a time, for each node.
const MAX_TASKS_PER_NODE: u32 = 8;
/// How sure a promise is gets looked up anew after another eighth of the tasks so far.
const PREDICTION_INTERVAL: u32 = 8;

/// An array with tasks that are not over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveArray {
    /// A task of it as it was handed in.
    pub(super) submission: Submission,
    /// Tasks that have not come into being.
    pub(super) pending: TaskRanges,
    /// Tasks that have not come into being, and that their user holds back.
    pub(super) held_pending: TaskRanges,
    max_at_once: Option<u32>,
    /// Tasks that are before the gate.
    pub(super) before_gate: u32,
    /// How its tasks stand, but for those that nothing has happened to.
    counts: TaskCounts,
    /// Whether the store does not know the tally.
    changed: bool,
}

/// How the tasks of an array stand: how many of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// That wait.
    pub queued: u64,
    /// That their user holds back.
    pub held: u64,
    /// That run.
    pub running: u32,
    /// That ended by themselves.
    pub finished: u32,
    /// That were taken back.
    pub cancelled: u32,
    /// Of which nobody knows how they ended.
    pub lost: u32,
    /// That were kept out.
    pub rejected: u32,
    /// That finished within their deadline, or had none and finished.
    pub fulfilled: u32,
    /// From submission to start of those, all together.
    pub wait: Span,
    /// How often one was started.
    pub attempts: u32,
    /// The most that those that were let in cost together.
    pub price: Credits,
    /// The greatest exit code, as a shell says it, of those that ended by themselves.
    pub max_exit_code: Option<u8>,
}

impl ActiveArray {
    pub(super) fn new(submission: &Submission, plan: &ArraySpec, now: Instant) -> Self {
        let mut submission = submission.clone();
        // The tasks are in the queue now.
        submission.options.array = None;
        submission.options.submitted.get_or_insert(now);
        Self {
            submission,
            pending: plan.tasks.clone(),
            held_pending: TaskRanges::default(),
            max_at_once: plan.max_at_once,
            before_gate: 0,
            counts: TaskCounts::default(),
            changed: true,
        }
    }

    /// Tasks that the gate does not know.
    pub fn n_pending(&self) -> u64 {
        self.pending.len() + self.held_pending.len()
    }

    /// The same: those that wait, and those that their user holds back.
    pub fn n_pending_and_held(&self) -> (u64, u64) {
        (self.pending.len(), self.held_pending.len())
    }

    /// Whether a task has not come into being.
    pub fn is_pending(&self, task: u32) -> bool {
        self.pending.contains(task) || self.held_pending.contains(task)
    }

    /// How its tasks stand.
    pub fn counts(&self) -> TaskCounts {
        let waits = u64::from(self.before_gate - self.counts.running);
        TaskCounts {
            queued: self.pending.len() + waits - self.n_held_at_gate(),
            held: self.held_pending.len() + self.n_held_at_gate(),
            ..self.counts.clone()
        }
    }

    /// Those before the gate that are held back.
    fn n_held_at_gate(&self) -> u64 {
        self.counts.held
    }

    pub(super) fn count_hold(&mut self, held: bool) {
        self.changed = true;
        if held {
            self.counts.held += 1;
        } else {
            self.counts.held -= 1;
        }
    }

    pub(super) fn add_price(&mut self, price: Credits) {
        self.changed = true;
        self.counts.price += price;
    }

    pub(super) fn count_start(&mut self) {
        self.changed = true;
        self.counts.running += 1;
        self.counts.attempts += 1;
    }

    pub(super) fn count_stop(&mut self) {
        self.changed = true;
        self.counts.running -= 1;
    }

    pub(super) fn remove_from_gate(&mut self, live: &ActiveTask) {
        self.changed = true;
        self.before_gate -= 1;
        self.counts.running -= u32::from(live.has_nodes());
        self.counts.held -= u64::from(live.held);
    }

    fn is_over(&self) -> bool {
        self.before_gate == 0 && self.n_pending() == 0
    }

    /// Whether another task may be put before the gate that nothing is promised to.
    fn can_add_task(&self, nodes: u32) -> bool {
        let wait = self.before_gate - self.counts.running - self.counts.held as u32;
        let most = self.max_at_once.unwrap_or(u32::MAX);
        self.before_gate < most.min(nodes.max(1) * MAX_TASKS_PER_NODE) && wait <= nodes
    }

    /// Whether all of it ended well.
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
    /// What an array is told whose first task is told `first`; it is known to the service from here
    /// on, and tasks are put before the gate.
    pub(super) fn admit_array(
        &mut self,
        job: u64,
        submission: &Submission,
        plan: &ArraySpec,
        first: &SubmitOutcome,
        step: &mut StepOutput,
    ) -> Vec<TaskGroupOutcome> {
        let array = ActiveArray::new(submission, plan, self.now);
        self.jobs.arrays.insert(job, array);
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
            push_group(&mut parts, array.pending.clone(), &AdmissionState::Queued);
        }
        parts
    }

    /// Puts tasks before the gate that there is room for; whether there were any.
    pub(super) fn materialise_tasks(&mut self, step: &mut StepOutput) -> bool {
        let hungry = self.jobs.arrays.iter();
        let hungry = hungry.filter(|(_, array)| !array.pending.is_empty());
        let hungry: Vec<u64> = hungry.map(|(&job, _)| job).collect();
        let mut fed = false;
        for job in hungry {
            while let Some((task, true)) = self.next_task(job) {
                fed = true;
                let standing = self.evaluate_task(job, true, &mut None);
                if let AdmissionState::Rejected(refusals) = &standing {
                    // Those behind it would be told the same: a refusal changes nothing.
                    self.drop_pending(job, refusals, step);
                    self.finish_array(job, step);
                    break;
                }
                self.admit_next_task(job, task, step);
            }
        }
        fed
    }

    /// The task that comes next, and whether there is room for it without a promise.
    fn next_task(&self, job: u64) -> Option<(u32, bool)> {
        let array = self.jobs.arrays.get(&job)?;
        let task = array.pending.first()?;
        Some((task, array.can_add_task(self.gate.view(self.now).n_nodes())))
    }

    fn admit_next_task(&mut self, job: u64, task: u32, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.pop_first();
        let submission = array.submission.clone();
        let forecast = self.forecast(&submission);
        let (estimate, _) = self.rules.estimate(&submission, &forecast);
        let spec = rules::spec(&submission, estimate, self.now, self.memory_per_node());
        self.admit_task(TaskKey { job, task }, &submission, spec, None, step);
    }

    /// What the next task is told. How sure it is to keep its deadline is looked up if `look`, and
    /// else taken to be as before.
    fn evaluate_task(
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
        let (estimate, _) = self.rules.estimate(&submission, &forecast);
        let spec = rules::spec(&submission, estimate, self.now, self.memory_per_node());
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

    /// The tasks of an array that have not come into being are kept out.
    fn drop_pending(
        &mut self,
        job: u64,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) -> TaskRanges {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return TaskRanges::default();
        };
        let tasks = std::mem::take(&mut array.pending);
        array.counts.rejected += tasks.len() as u32;
        array.changed = true;
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks: tasks.clone(),
            reasons: refusals.to_vec(),
        });
        tasks
    }

    /// A task that waited is kept out.
    pub(super) fn reject_task(&mut self, task: TaskKey, reason: Reason, step: &mut StepOutput) {
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

    /// A task is over that was before the gate.
    pub(super) fn finish_task(
        &mut self,
        task: TaskKey,
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
                if live.met_deadline(self.now) {
                    tally.fulfilled += 1;
                    tally.wait += live.wait_span();
                }
            }
            JobEnding::Cancelled => tally.cancelled += 1,
            JobEnding::Lost => tally.lost += 1,
        }
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

    /// An array none of whose tasks is left is over.
    pub(super) fn finish_array(&mut self, job: u64, step: &mut StepOutput) {
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

    /// Says how arrays stand that changed in a step.
    pub(super) fn report_counts(&mut self, step: &mut StepOutput) {
        let arrays = self.jobs.arrays.iter_mut();
        for (&job, array) in arrays.filter(|(_, array)| array.changed) {
            array.changed = false;
            let tally = array.counts();
            step.changes
                .push(RowChange::ArrayCounts { job, counts: tally });
        }
    }

    /// Tasks of an array are taken back.
    pub(super) fn cancel_tasks(
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
        if !held.is_empty() {
            self.report_held(job, step);
        }
        for task in self.tasks_before_gate(job, tasks) {
            any |= self.cancel_task(task, step).is_ok();
        }
        self.finish_array(job, step);
        any.then_some(()).ok_or(CommandError::NoTask)
    }

    /// Tasks of an array are held back, or released.
    pub(super) fn hold_tasks(
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

    fn report_held(&self, job: u64, step: &mut StepOutput) {
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

    fn tasks_before_gate(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<TaskKey> {
        let all = self.jobs.tasks_of(job).map(|(task, _)| task);
        all.filter(|task| tasks.is_none_or(|tasks| tasks.contains(task.task)))
            .collect()
    }
}

impl TaskCounts {
    /// That of an array none of whose tasks has come into being, and none will: taken back or, with
    /// `rejected`, kept out.
    pub(super) fn never_started(submission: &Submission, rejected: bool) -> Option<Self> {
        submission.options.array.as_ref()?;
        let tasks = submission.n_tasks() as u32;
        Some(Self {
            rejected: if rejected { tasks } else { 0 },
            cancelled: if rejected { 0 } else { tasks },
            ..Self::default()
        })
    }
}

impl ActiveTask {
    /// Whether an end at `at` is within its deadline, if it has one, as the objectives take it.
    fn met_deadline(&self, at: Instant) -> bool {
        let due = self.spec.due();
        due.is_none_or(|due| at <= due + tollgate_model::outcome::DELAY_TOLERANCE)
    }

    fn wait_span(&self) -> Span {
        self.started.unwrap_or(self.submitted).since(self.submitted)
    }
}

fn intersect(all: &TaskRanges, tasks: Option<&TaskRanges>) -> TaskRanges {
    match tasks {
        None => all.clone(),
        Some(tasks) => all.intersection(tasks),
    }
}

/// Adds tasks to the last part that is told the same.
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

impl AdmissionState {
    /// Whether both are let in, both wait, or both are kept out for the same reasons.
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
