//! The tasks on a shared node.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, JobId, JobSpec, NodeSpeed, Span};

use super::task::NodeTask;

/// Work and times within this many seconds of zero count as zero: the smallest step of the clock
/// plus rounding.
pub const TOLERANCE_S: f64 = 1e-6 + 1e-9;

/// A node and the tasks that share it, in order of arrival.
///
/// Work is integrated lazily: [`NodeTask::work`] is the work done until [`Node::since`], and from
/// then on each task progresses at a constant rate until shares are set again. A task that resumes
/// after it stood still loses some of its work, if preemption has a cost.
///
/// Work is in seconds of this node: a faster node has less to do for the same task. Run times, estimates
/// and forecasts of jobs are in seconds of the slowest node of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub(super) tasks: Vec<NodeTask>,
    pub(super) since: Instant,
    pub(super) total: f64,
    /// Memory in bytes, if known.
    pub(super) memory: Option<u64>,
    /// Seconds of work that a task loses when it resumes. A setting of simulations; no snapshot has it.
    #[serde(skip)]
    pub(super) preemption_cost: f64,
    /// The speed relative to the slowest node of the machine. A setting of simulations; no snapshot has it.
    #[serde(skip)]
    pub(super) speed: NodeSpeed,
}

impl Node {
    /// Returns the tasks in order of arrival.
    pub fn tasks(&self) -> &[NodeTask] {
        &self.tasks
    }

    /// Returns the instant until which [`NodeTask::work`] counts, and at which shares were last
    /// set.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Returns the memory in bytes that the node's tasks may use together, if known.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Returns the speed relative to the slowest node of the machine, at least 1.
    #[inline]
    pub fn speed(&self) -> NodeSpeed {
        self.speed
    }

    /// Returns true if tasks lose work when they resume, which setting their rates does.
    pub fn has_preemption_cost(&self) -> bool {
        self.preemption_cost > 0.0
    }

    /// Returns true if equal tasks that start on both nodes stay equal.
    pub(super) fn is_equipped_like(&self, other: &Self) -> bool {
        self.memory == other.memory
            && self.speed == other.speed
            && self.preemption_cost == other.preemption_cost
    }

    /// Returns the sum of the shares; may be above 1.
    pub fn total_share(&self) -> f64 {
        self.total
    }

    /// Returns the place of the task of a job; None without such a task.
    pub(super) fn place_of(&self, job: JobId) -> Option<usize> {
        self.tasks.iter().position(|task| task.job == job)
    }

    /// Returns the job of each task, and the speed with which the task may progress, in seconds of work on
    /// the slowest node per second.
    pub(super) fn speeds(&self) -> impl Iterator<Item = (JobId, f64)> {
        let speed = self.speed.as_f64();
        let (total, n_tasks) = (self.total, self.tasks.len());
        let speed_of = move |task: &NodeTask| part(task.share, total, n_tasks) * speed;
        self.tasks
            .iter()
            .map(move |task| (task.job, speed_of(task)))
    }

    /// Sets the speeds of the tasks for whose jobs `speed_of` returns one, from `now` on. Returns whether a
    /// rate changed.
    pub(super) fn set_speeds(
        &mut self,
        now: Instant,
        speed_of: impl Fn(JobId) -> Option<f64>,
    ) -> bool {
        let speed = self.speed.as_f64();
        let rate = |task: &NodeTask| speed_of(task.job).map_or(task.rate, |own| own / speed);
        if self.tasks.iter().all(|task| rate(task) == task.rate) {
            return false;
        }
        self.advance(now);
        for task in &mut self.tasks {
            task.set_rate(rate(task));
        }
        true
    }

    /// Returns the seconds from [`Node::since`] to `now`, not negative.
    #[inline]
    pub fn elapsed_s(&self, now: Instant) -> f64 {
        now.since(self.since).max(Span::ZERO).as_secs_f64()
    }

    /// Returns the seconds of work that a task has done by `now`.
    #[inline]
    pub fn work_at(&self, task: &NodeTask, now: Instant) -> f64 {
        task.work_after(self.elapsed_s(now))
    }

    /// Adds a task of a job to the node. The caller must then set the shares.
    pub fn add_task(&mut self, job: JobId, spec: &JobSpec, now: Instant) {
        self.advance(now);
        self.since = now;
        let task = NodeTask::new(job, spec, self.speed, self.preemption_cost);
        self.tasks.push(task);
    }

    /// Lets the last task, which was just added, lose the same part of its job's work as its other tasks in
    /// step. The slowest of them is on a node of this speed.
    pub(super) fn keep_last_in_step(&mut self, slowest: NodeSpeed) {
        let cost = self.preemption_cost * slowest.relative_to(self.speed).as_f64();
        if let Some(task) = self.tasks.last_mut() {
            task.set_preemption_cost(cost);
        }
    }

    /// Ends a task, given by its index. The caller must then set the shares.
    pub fn remove_task(&mut self, at: usize, now: Instant) {
        self.advance(now);
        self.tasks.remove(at);
    }

    /// Sets the share of each task, in order, from `now` on, and the rates that follow from the shares.
    /// Returns the next instant at which shares must be recomputed although no task starts or ends. Then a
    /// deadline passes or a task has done the seconds of work that are its `mark`.
    pub fn set_rates(
        &mut self,
        now: Instant,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) -> Option<Instant> {
        self.advance(now);
        self.set_shares(share, mark)
    }

    /// Brings the work of every task up to `now`.
    fn advance(&mut self, now: Instant) {
        if now <= self.since {
            return;
        }
        let elapsed_s = self.elapsed_s(now);
        for task in &mut self.tasks {
            task.work = task.work_after(elapsed_s);
        }
        if self.has_preemption_cost() {
            for task in &mut self.tasks {
                task.note_progress();
            }
        }
        self.since = now;
    }

    fn set_shares(
        &mut self,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) -> Option<Instant> {
        let (mut total, n_tasks) = (0.0, self.tasks.len());
        for task in &mut self.tasks {
            let share = share(task);
            assert!(share >= 0.0, "the share of {:?} is {share}", task.job);
            task.share = share;
            total += share;
        }
        self.total = total;
        let mut next = NextChange::after(self.since);
        for task in &mut self.tasks {
            task.set_rate(part(task.share, total, n_tasks));
            next.include(task, mark(task));
        }
        next.at()
    }

    /// Returns the next instant at which shares must be recomputed although no task starts or ends, if the
    /// rates stay the same. Then a deadline passes or a task has done the seconds of work that are its
    /// `mark`.
    pub(super) fn next_change(&self, mark: impl Fn(&NodeTask) -> f64) -> Option<Instant> {
        let mut next = NextChange::after(self.since);
        for task in &self.tasks {
            next.include(task, mark(task));
        }
        next.at()
    }
}

/// Returns the part of a node that one of its tasks may have. It is its share of all shares, so that spare
/// time and shortage are distributed in proportion; equal parts if no task has a share.
fn part(share: f64, total: f64, n_tasks: usize) -> f64 {
    if total > 0.0 {
        share / total
    } else {
        1.0 / n_tasks as f64
    }
}

/// The first deadline of a node's tasks, and the first instant at which one of them has done its mark.
struct NextChange {
    now: Instant,
    due: Instant,
    /// Seconds from now.
    mark_s: f64,
}

impl NextChange {
    /// Creates the change of a node without tasks: there is none.
    fn after(now: Instant) -> Self {
        Self {
            now,
            due: Instant::MAX,
            mark_s: f64::INFINITY,
        }
    }

    /// Includes a task whose mark is at these seconds of work.
    fn include(&mut self, task: &NodeTask, mark: f64) {
        if task.due > self.now + Span::TICK {
            self.due = self.due.min(task.due);
        }
        let left = mark - task.work;
        if left > TOLERANCE_S && left / task.rate < self.mark_s {
            self.mark_s = left / task.rate;
        }
    }

    fn at(&self) -> Option<Instant> {
        let at = self.due.min(self.now + Span::ceil_secs_f64(self.mark_s));
        (at < Instant::MAX).then_some(at)
    }
}
