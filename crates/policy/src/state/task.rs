//! One job's part of a node.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, JobId, JobSpec, NodeSpeed};

#[cfg(doc)]
use super::Node;

/// One job's part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeTask {
    /// The task's job.
    pub job: JobId,
    /// The task's weight, at least 0.
    pub share: f64,
    /// Seconds of work done per second: the task's part of the node, or less if the tasks of its job
    /// run in step. The rates of a node sum to at most 1.
    pub rate: f64,
    /// Seconds of work done until the node's [`Node::since`]. Below 0 for a task that resumes and that had
    /// done less than it loses.
    pub work: f64,
    /// Seconds of work estimated by the user, on this node.
    pub estimate: f64,
    /// The job's deadline; [`Instant::MAX`] without one.
    pub due: Instant,
    /// The share of this node requested at submission, estimate / deadline; 0 without a deadline.
    pub requested: f64,
    /// True if the task has run.
    #[serde(skip)]
    has_run: bool,
    /// Seconds of work that the task loses when it resumes; 0 unless it has run and stood still.
    #[serde(skip)]
    loss: f64,
    /// Seconds of work that the task loses each time that it resumes after it stood still.
    #[serde(skip)]
    preemption_cost: f64,
    /// True if the task resumes at this instant and has lost the work.
    #[serde(skip)]
    has_lost: bool,
}

impl NodeTask {
    /// Creates a task on a node of this speed, which loses `preemption_cost` when it resumes. The estimate
    /// is translated to the node (Yeo & Buyya 2006, §3).
    pub(super) fn new(job: JobId, spec: &JobSpec, speed: NodeSpeed, preemption_cost: f64) -> Self {
        let estimate = spec.estimate.as_secs_f64() / speed.as_f64();
        Self {
            job,
            share: 0.0,
            rate: 0.0,
            work: 0.0,
            estimate,
            due: spec.due().unwrap_or(Instant::MAX),
            requested: requested_share(spec) / speed.as_f64(),
            has_run: false,
            loss: 0.0,
            preemption_cost,
            has_lost: false,
        }
    }

    /// Sets the seconds of work that the task loses each time that it resumes.
    pub(super) fn set_preemption_cost(&mut self, cost: f64) {
        self.preemption_cost = cost;
    }

    /// Sets the rate from the present instant on. A task that resumes has lost work, unless its rate is set
    /// back to 0 within the instant: rates are set several times, and only the last one lasts.
    pub(super) fn set_rate(&mut self, rate: f64) {
        let resumes = rate > 0.0;
        if self.loss > 0.0 && resumes != self.has_lost {
            self.work -= if resumes { self.loss } else { -self.loss };
            self.has_lost = resumes;
        }
        self.rate = rate;
    }

    /// Notes that the task has run, or has stood still, up to now: what it loses when it resumes.
    pub(super) fn note_progress(&mut self) {
        self.has_run |= self.rate > 0.0;
        let stands_still = self.has_run && self.rate == 0.0;
        self.loss = if stands_still {
            self.preemption_cost
        } else {
            0.0
        };
        self.has_lost = false;
    }

    /// Returns the seconds of work done `elapsed_s` seconds after [`Node::since`].
    #[inline]
    pub fn work_after(&self, elapsed_s: f64) -> f64 {
        self.work + self.rate * elapsed_s
    }

    /// Returns the seconds from `now` to the deadline; infinite without one.
    pub fn time_left(&self, now: Instant) -> f64 {
        if self.due == Instant::MAX {
            return f64::INFINITY;
        }
        self.due.since(now).as_secs_f64()
    }
}

/// Returns the share of the slowest nodes that a job requests at submission, estimate / deadline (Yeo &
/// Buyya 2006, eq. 1 at the start); 0 without a deadline, infinite for a deadline of zero.
pub fn requested_share(spec: &JobSpec) -> f64 {
    spec.sla.deadline.map_or(0.0, |deadline| {
        spec.estimate.as_secs_f64() / deadline.as_secs_f64()
    })
}
