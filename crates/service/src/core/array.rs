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
use super::answer::AdmissionCandidate;
use super::command::{ArraySpec, Submission, TaskKey};
use super::jobs::ActiveTask;
use super::outcome::{
    AdmissionState, CommandError, JobPrediction, RejectReason, RowChange, StepOutput,
    SubmitOutcome, TaskGroupOutcome,
};
use super::ranges::TaskRanges;
use super::rules;

/// Tasks of an array without a promise that are before the gate at a time, for each node.
const MOST_A_NODE: u32 = 8;
/// How sure a promise is gets looked up anew after another eighth of the tasks so far.
const LOOK_AGAIN: u32 = 8;

/// An array with tasks that are not over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveArray {
    /// A task of it as it was handed in.
    pub(super) submission: Submission,
    /// Tasks that have not come into being.
    pub(super) queue: TaskRanges,
    /// Tasks that have not come into being, and that their user holds back.
    pub(super) held: TaskRanges,
    most: Option<u32>,
    /// Tasks that are before the gate.
    pub(super) before_gate: u32,
    /// How its tasks stand, but for those that nothing has happened to.
    tally: TaskCounts,
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
    pub worst: Option<u8>,
}

impl ActiveArray {
    pub(super) fn new(submission: &Submission, plan: &ArraySpec, now: Instant) -> Self {
        let mut submission = submission.clone();
        // The tasks are in the queue now.
        submission.plan.array = None;
        submission.plan.since.get_or_insert(now);
        Self {
            submission,
            queue: plan.tasks.clone(),
            held: TaskRanges::default(),
            most: plan.most,
            before_gate: 0,
            tally: TaskCounts::default(),
            changed: true,
        }
    }

    /// Tasks that the gate does not know.
    pub fn asleep(&self) -> u64 {
        self.queue.len() + self.held.len()
    }

    /// The same: those that wait, and those that their user holds back.
    pub fn asleep_and_held(&self) -> (u64, u64) {
        (self.queue.len(), self.held.len())
    }

    /// Whether a task has not come into being.
    pub fn sleeps(&self, task: u32) -> bool {
        self.queue.contains(task) || self.held.contains(task)
    }

    /// How its tasks stand.
    pub fn tally(&self) -> TaskCounts {
        let waits = u64::from(self.before_gate - self.tally.running);
        TaskCounts {
            queued: self.queue.len() + waits - self.held_back(),
            held: self.held.len() + self.held_back(),
            ..self.tally.clone()
        }
    }

    /// Those before the gate that are held back.
    fn held_back(&self) -> u64 {
        self.tally.held
    }

    pub(super) fn hold_back(&mut self, held: bool) {
        self.changed = true;
        if held {
            self.tally.held += 1;
        } else {
            self.tally.held -= 1;
        }
    }

    pub(super) fn costs(&mut self, price: Credits) {
        self.changed = true;
        self.tally.price += price;
    }

    pub(super) fn starts(&mut self) {
        self.changed = true;
        self.tally.running += 1;
        self.tally.attempts += 1;
    }

    pub(super) fn stops(&mut self) {
        self.changed = true;
        self.tally.running -= 1;
    }

    pub(super) fn leaves_gate(&mut self, live: &ActiveTask) {
        self.changed = true;
        self.before_gate -= 1;
        self.tally.running -= u32::from(live.has_nodes());
        self.tally.held -= u64::from(live.held_back);
    }

    fn is_over(&self) -> bool {
        self.before_gate == 0 && self.asleep() == 0
    }

    /// Whether another task may be put before the gate that nothing is promised to.
    fn has_room(&self, nodes: u32) -> bool {
        let wait = self.before_gate - self.tally.running - self.tally.held as u32;
        let most = self.most.unwrap_or(u32::MAX);
        self.before_gate < most.min(nodes.max(1) * MOST_A_NODE) && wait <= nodes
    }

    /// Whether all of it ended well.
    fn succeeded(&self) -> bool {
        let tally = &self.tally;
        tally.cancelled + tally.lost + tally.rejected == 0 && tally.worst.unwrap_or(0) == 0
    }

    fn ending(&self) -> JobEnding {
        match &self.tally {
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
        let mut standing = first.standing.clone();
        let mut prospect = first.prospect;
        let mut look_at = 1;
        for n in 1.. {
            let Some((task, room)) = self.next_task(job) else {
                break;
            };
            let promised = submission.deadline.is_some() && plan.most.is_none();
            let may_come =
                room || (promised && matches!(standing, AdmissionState::Accepted { .. }));
            if let AdmissionState::Rejected(refusals) = &standing {
                let rest = self.drop_rest(job, refusals, step);
                add(&mut parts, rest, &standing);
                break;
            }
            if !may_come {
                break;
            }
            self.let_in_task(job, task, step);
            add(&mut parts, TaskRanges::new(task, task), &standing);
            let look = n >= look_at;
            if look {
                look_at = n + n / LOOK_AGAIN + 1;
            }
            standing = self.task_standing(job, look, &mut prospect);
        }
        if let Some(array) = self.jobs.arrays.get(&job) {
            add(&mut parts, array.queue.clone(), &AdmissionState::Queued);
        }
        parts
    }

    /// Puts tasks before the gate that there is room for; whether there were any.
    pub(super) fn feed(&mut self, step: &mut StepOutput) -> bool {
        let hungry = self.jobs.arrays.iter();
        let hungry = hungry.filter(|(_, array)| !array.queue.is_empty());
        let hungry: Vec<u64> = hungry.map(|(&job, _)| job).collect();
        let mut fed = false;
        for job in hungry {
            while let Some((task, true)) = self.next_task(job) {
                fed = true;
                let standing = self.task_standing(job, true, &mut None);
                if let AdmissionState::Rejected(refusals) = &standing {
                    // Those behind it would be told the same: a refusal changes nothing.
                    self.drop_rest(job, refusals, step);
                    self.conclude_array(job, step);
                    break;
                }
                self.let_in_task(job, task, step);
            }
        }
        fed
    }

    /// The task that comes next, and whether there is room for it without a promise.
    fn next_task(&self, job: u64) -> Option<(u32, bool)> {
        let array = self.jobs.arrays.get(&job)?;
        let task = array.queue.first()?;
        Some((task, array.has_room(self.gate.view(self.now).n_nodes())))
    }

    fn let_in_task(&mut self, job: u64, task: u32, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.queue.pop_first();
        let submission = array.submission.clone();
        let forecast = self.forecast(&submission);
        let (estimate, _) = self.rules.estimate(&submission, &forecast);
        let spec = rules::spec(&submission, estimate, self.now, self.memory_per_node());
        self.let_in(TaskKey { job, task }, &submission, spec, None, step);
    }

    /// What the next task is told. How sure it is to keep its deadline is looked up if `look`, and
    /// else taken to be as before.
    fn task_standing(
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
        let standing = self.standing(self.now, &candidate);
        let accepted = matches!(standing, AdmissionState::Accepted { .. });
        let floor = self.floor(&submission, accepted);
        let (Some(floor), Some(_)) = (floor, submission.deadline) else {
            return standing;
        };
        if matches!(standing, AdmissionState::Rejected(_)) {
            return standing;
        }
        if look {
            *prospect = self.prospect(self.now, &candidate);
        }
        let probability = prospect.and_then(|prospect| prospect.probability);
        let probability = probability.or_else(|| candidate.best_case());
        match probability.filter(|p: &Probability| p.as_f64() < floor.least()) {
            None => standing,
            Some(probability) => {
                AdmissionState::Rejected(vec![RejectReason::Confidence { probability, floor }])
            }
        }
    }

    /// The tasks of an array that have not come into being are kept out.
    fn drop_rest(
        &mut self,
        job: u64,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) -> TaskRanges {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return TaskRanges::default();
        };
        let tasks = std::mem::take(&mut array.queue);
        array.tally.rejected += tasks.len() as u32;
        array.changed = true;
        step.changes.push(RowChange::Dropped {
            job,
            tasks: tasks.clone(),
            refusals: refusals.to_vec(),
        });
        tasks
    }

    /// A task that waited is kept out.
    pub(super) fn reject_task(&mut self, task: TaskKey, reason: Reason, step: &mut StepOutput) {
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            array.tally.rejected += 1;
        }
        step.changes.push(RowChange::Dropped {
            job: task.job,
            tasks: TaskRanges::new(task.task, task.task),
            refusals: vec![RejectReason::Policy(reason)],
        });
        self.conclude_array(task.job, step);
    }

    /// A task is over that was before the gate.
    pub(super) fn task_over(
        &mut self,
        task: TaskKey,
        live: &ActiveTask,
        ending: JobEnding,
        step: &mut StepOutput,
    ) {
        let Some(array) = self.jobs.arrays.get_mut(&task.job) else {
            return;
        };
        let tally = &mut array.tally;
        match ending {
            JobEnding::Finished => {
                tally.finished += 1;
                tally.worst = tally.worst.max(live.code);
                if live.in_time(self.now) {
                    tally.fulfilled += 1;
                    tally.wait += live.waited();
                }
            }
            JobEnding::Cancelled => tally.cancelled += 1,
            JobEnding::Lost => tally.lost += 1,
        }
        if live.attempt == 0 {
            step.changes.push(RowChange::Dropped {
                job: task.job,
                tasks: TaskRanges::new(task.task, task.task),
                refusals: Vec::new(),
            });
        } else {
            let attempt = live.attempt_key(task);
            step.changes.push(RowChange::TaskOver { attempt, ending });
        }
        self.conclude_array(task.job, step);
    }

    /// An array none of whose tasks is left is over.
    pub(super) fn conclude_array(&mut self, job: u64, step: &mut StepOutput) {
        let over = |array: &&mut ActiveArray| array.is_over();
        let Some(array) = self.jobs.arrays.get_mut(&job).filter(over) else {
            return;
        };
        let (ending, succeeded) = (array.ending(), array.succeeded());
        let tally = array.tally();
        self.jobs.arrays.remove(&job);
        step.changes.push(RowChange::Tally { job, tally });
        step.changes.push(RowChange::Over { job, ending });
        self.tell_followers(job, succeeded, step);
    }

    /// Says how arrays stand that changed in a step.
    pub(super) fn tally_up(&mut self, step: &mut StepOutput) {
        let arrays = self.jobs.arrays.iter_mut();
        for (&job, array) in arrays.filter(|(_, array)| array.changed) {
            array.changed = false;
            let tally = array.tally();
            step.changes.push(RowChange::Tally { job, tally });
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
        let mut dropped = among(&array.queue, tasks);
        let held = among(&array.held, tasks);
        array.queue.remove(&dropped);
        array.held.remove(&held);
        dropped.add(&held);
        let mut any = !dropped.is_empty();
        if any {
            array.tally.cancelled += dropped.len() as u32;
            array.changed = true;
            step.changes.push(RowChange::Dropped {
                job,
                tasks: dropped,
                refusals: Vec::new(),
            });
        }
        if !held.is_empty() {
            self.say_held(job, step);
        }
        for task in self.tasks_before_gate(job, tasks) {
            any |= self.cancel_task(task, step).is_ok();
        }
        self.conclude_array(job, step);
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
        let ActiveArray { queue, held, .. } = array;
        let (from, to) = if hold { (queue, held) } else { (held, queue) };
        let moved = among(from, tasks);
        from.remove(&moved);
        to.add(&moved);
        array.changed = true;
        let mut any = !moved.is_empty();
        for task in self.tasks_before_gate(job, tasks) {
            any |= self.hold_task(task, hold, step).is_ok();
        }
        self.say_held(job, step);
        any.then_some(()).ok_or(CommandError::NoTask)
    }

    fn say_held(&self, job: u64, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get(&job) else {
            return;
        };
        let mut tasks = array.held.clone();
        let before_gate = self.jobs.of(job).filter(|(_, live)| live.held_back);
        for (task, _) in before_gate {
            tasks.add(&TaskRanges::new(task.task, task.task));
        }
        step.changes.push(RowChange::HeldTasks { job, tasks });
    }

    fn tasks_before_gate(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<TaskKey> {
        let all = self.jobs.of(job).map(|(task, _)| task);
        all.filter(|task| tasks.is_none_or(|tasks| tasks.contains(task.task)))
            .collect()
    }
}

impl TaskCounts {
    /// That of an array none of whose tasks has come into being, and none will: taken back or, with
    /// `rejected`, kept out.
    pub(super) fn stillborn(submission: &Submission, rejected: bool) -> Option<Self> {
        submission.plan.array.as_ref()?;
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
    fn in_time(&self, at: Instant) -> bool {
        let due = self.spec.due();
        due.is_none_or(|due| at <= due + tollgate_model::outcome::DELAY_TOLERANCE)
    }

    fn waited(&self) -> Span {
        self.started.unwrap_or(self.since).since(self.since)
    }
}

fn among(all: &TaskRanges, tasks: Option<&TaskRanges>) -> TaskRanges {
    match tasks {
        None => all.clone(),
        Some(tasks) => all.common(tasks),
    }
}

/// Adds tasks to the last part that is told the same.
fn add(parts: &mut Vec<TaskGroupOutcome>, tasks: TaskRanges, standing: &AdmissionState) {
    if tasks.is_empty() {
        return;
    }
    match (parts.last_mut(), standing) {
        (Some(part), standing) if part.standing.is_like(standing) => {
            part.tasks.add(&tasks);
            part.standing.join(standing);
        }
        _ => parts.push(TaskGroupOutcome {
            tasks,
            standing: standing.clone(),
        }),
    }
}

impl AdmissionState {
    /// Whether both are let in, both wait, or both are kept out for the same reasons.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Accepted { .. }, Self::Accepted { .. }) => true,
            (one, other) => one == other,
        }
    }

    fn join(&mut self, other: &Self) {
        if let (Self::Accepted { price }, Self::Accepted { price: more }) = (self, other) {
            *price += *more;
        }
    }
}
