//! What runs on a node whose tasks share it.

use tollgate_model::{Instant, JobId, JobSpec, Span};

/// Work and times within this many seconds of zero count as zero: the smallest step of the
/// clock, and what rounding may put on top of it.
pub const TOLERANCE_S: f64 = 1e-6 + 1e-9;

/// A node and the tasks that share it, in order of arrival.
///
/// Work is integrated lazily: [`Task::work`] is what was done until [`Node::since`], and from
/// then on each task progresses at a constant rate until shares are set again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub(super) tasks: Vec<Task>,
    pub(super) since: Instant,
    pub(super) total: f64,
}

/// One job's part of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Whose it is.
    pub job: JobId,
    /// The share it weighs in with, at least 0; see [`Node::rate`].
    pub share: f64,
    /// Seconds of work done until the node's [`Node::since`].
    pub work: f64,
    /// Seconds of work its user expects.
    pub estimate: f64,
    /// When its job must have finished; [`Instant::MAX`] without a deadline.
    pub due: Instant,
    /// The share it asked for at submission, estimate / deadline; 0 without a deadline.
    pub requested: f64,
}

impl Task {
    pub(super) fn new(job: JobId, spec: &JobSpec) -> Self {
        let estimate = spec.estimate.as_secs_f64();
        Self {
            job,
            share: 0.0,
            work: 0.0,
            estimate,
            due: spec.due().unwrap_or(Instant::MAX),
            requested: requested_share(spec),
        }
    }

    /// Seconds from `now` to the deadline; infinite without one.
    pub fn time_left(&self, now: Instant) -> f64 {
        if self.due == Instant::MAX {
            return f64::INFINITY;
        }
        self.due.since(now).as_secs_f64()
    }
}

/// The share a job asks for at submission, estimate / deadline (Yeo & Buyya 2006, eq. 1 at the
/// start); 0 without a deadline, infinite if the deadline is no time at all.
pub(crate) fn requested_share(spec: &JobSpec) -> f64 {
    spec.sla.deadline.map_or(0.0, |deadline| {
        spec.estimate.as_secs_f64() / deadline.as_secs_f64()
    })
}

impl Node {
    /// The tasks in order of arrival.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The instant until which [`Task::work`] counts, and at which shares were last set.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// The sum of the shares; may be above 1.
    pub fn total_share(&self) -> f64 {
        self.total
    }

    /// Seconds of work a second that a task does: its share of all shares, so that spare time
    /// is given out and a shortage shared in proportion; equal parts if nobody has a share. The
    /// rates of a node sum to 1.
    pub fn rate(&self, task: &Task) -> f64 {
        if self.total > 0.0 {
            task.share / self.total
        } else {
            1.0 / self.tasks.len() as f64
        }
    }

    /// Seconds of work that a task has done by `now`.
    pub fn work_at(&self, task: &Task, now: Instant) -> f64 {
        let elapsed = now.since(self.since);
        if elapsed <= Span::ZERO {
            return task.work;
        }
        task.work + self.rate(task) * elapsed.as_secs_f64()
    }

    /// Brings the work of every task up to `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        if now <= self.since {
            return;
        }
        for at in 0..self.tasks.len() {
            self.tasks[at].work = self.work_at(&self.tasks[at], now);
        }
        self.since = now;
    }

    /// The next instant at which shares must be set anew without anything arriving or ending: a
    /// deadline passes or an estimate is used up. Counted from [`Node::since`].
    pub(super) fn next_change(&self) -> Option<Instant> {
        let now = self.since;
        self.tasks
            .iter()
            .flat_map(|task| {
                let lapses = Some(task.due).filter(|&due| due > now + Span::TICK);
                let left = task.estimate - task.work;
                let rate = self.rate(task);
                let used_up = (left > TOLERANCE_S && rate > 0.0)
                    .then(|| now + Span::ceil_secs_f64(left / rate));
                [lapses, used_up]
            })
            .flatten()
            .filter(|&at| at < Instant::MAX)
            .min()
    }
}
