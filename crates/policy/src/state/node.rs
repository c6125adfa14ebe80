//! What runs on a node whose tasks share it.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, JobId, JobSpec, Span};

/// Work and times within this many seconds of zero count as zero: the smallest step of the
/// clock, and what rounding may put on top of it.
pub const TOLERANCE_S: f64 = 1e-6 + 1e-9;

/// A node and the tasks that share it, in order of arrival.
///
/// Work is integrated lazily: [`NodeTask::work`] is what was done until [`Node::since`], and from
/// then on each task progresses at a constant rate until shares are set again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub(super) tasks: Vec<NodeTask>,
    pub(super) since: Instant,
    pub(super) total: f64,
    /// Bytes, where that is known.
    pub(super) memory: Option<u64>,
}

/// One job's part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeTask {
    /// Whose it is.
    pub job: JobId,
    /// The share it weighs in with, at least 0.
    pub share: f64,
    /// Seconds of work it does a second: its share of all shares, so that spare time is given
    /// out and a shortage shared in proportion; equal parts if nobody has a share. The rates of
    /// a node sum to 1.
    pub rate: f64,
    /// Seconds of work done until the node's [`Node::since`].
    pub work: f64,
    /// Seconds of work its user expects.
    pub estimate: f64,
    /// When its job must have finished; [`Instant::MAX`] without a deadline.
    pub due: Instant,
    /// The share it asked for at submission, estimate / deadline; 0 without a deadline.
    pub requested: f64,
}

impl NodeTask {
    pub(super) fn new(job: JobId, spec: &JobSpec) -> Self {
        let estimate = spec.estimate.as_secs_f64();
        Self {
            job,
            share: 0.0,
            rate: 0.0,
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
    pub fn tasks(&self) -> &[NodeTask] {
        &self.tasks
    }

    /// The instant until which [`NodeTask::work`] counts, and at which shares were last set.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Bytes of memory that its tasks may hold together, where that is known.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// The sum of the shares; may be above 1.
    pub fn total_share(&self) -> f64 {
        self.total
    }

    /// Seconds of work that a task has done by `now`.
    pub fn work_at(&self, task: &NodeTask, now: Instant) -> f64 {
        let elapsed = now.since(self.since).max(Span::ZERO);
        task.work + task.rate * elapsed.as_secs_f64()
    }

    /// Puts a task of a job on the node. Shares must be set next.
    pub fn add_task(&mut self, job: JobId, spec: &JobSpec, now: Instant) {
        self.advance(now);
        self.since = now;
        self.tasks.push(NodeTask::new(job, spec));
    }

    /// Ends a task, by its place among the tasks. Shares must be set next.
    pub fn remove_task(&mut self, at: usize, now: Instant) {
        self.advance(now);
        self.tasks.remove(at);
    }

    /// Sets the share of each task, in order, from `now` on, and the rates that follow from them.
    /// Returns the next instant at which shares must be set anew without anything arriving or
    /// ending: a deadline passes or a task has done as many seconds of work as its `mark` says.
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
        let elapsed = now.since(self.since).as_secs_f64();
        for task in &mut self.tasks {
            task.work += task.rate * elapsed;
        }
        self.since = now;
    }

    fn set_shares(
        &mut self,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) -> Option<Instant> {
        self.total = 0.0;
        for task in &mut self.tasks {
            task.share = share(task);
            assert!(
                task.share >= 0.0,
                "the share of {:?} is {}",
                task.job,
                task.share
            );
            self.total += task.share;
        }
        let now = self.since;
        let equal_part = 1.0 / self.tasks.len() as f64;
        let (mut next_due, mut next_mark_s) = (Instant::MAX, f64::INFINITY);
        for task in &mut self.tasks {
            task.rate = if self.total > 0.0 {
                task.share / self.total
            } else {
                equal_part
            };
            if task.due > now + Span::TICK {
                next_due = next_due.min(task.due);
            }
            let left = mark(task) - task.work;
            if left > TOLERANCE_S {
                next_mark_s = next_mark_s.min(left / task.rate);
            }
        }
        let next = next_due.min(now + Span::ceil_secs_f64(next_mark_s));
        (next < Instant::MAX).then_some(next)
    }
}
