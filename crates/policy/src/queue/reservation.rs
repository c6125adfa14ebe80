//! The reservation of EASY backfilling: the start of the queue's head, and the processors it leaves
//! over.
//!
//! Lifka 1995; Mu'alem & Feitelson 2001. One reservation needs no profile of free processors: two
//! numbers are enough to test a candidate.

use tollgate_model::{Instant, Span};

use super::queued_job::{BlockMinima, QueuedJob, size_class, steps};
use crate::state::View;

/// The reservation of the job at the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeadReservation {
    /// Its start by the estimates: the shadow time. [`Instant::MAX`] if the nodes that are up can
    /// never hold the job.
    pub(super) at: Instant,
    /// Processors that are free at the shadow time and not needed by the job.
    pub(super) extra: u32,
}

impl HeadReservation {
    /// Returns the reservation of a job that needs `procs` processors, more than are idle. A
    /// running job past its estimate is assumed to end at once.
    pub(super) fn of(view: View<'_>, procs: u32) -> Self {
        let mut free = view.n_idle();
        let mut at = None;
        for (sum, runners) in view.running_jobs().blocks() {
            if at.is_none() && free + sum < procs {
                free += sum;
                continue;
            }
            for runner in runners {
                let end = runner.end.max(view.now);
                if at.is_some_and(|at| end > at) {
                    return Self::new(at, free, procs);
                }
                free += runner.procs;
                if at.is_none() && free >= procs {
                    at = Some(end);
                }
            }
        }
        Self::new(at, free, procs)
    }

    fn new(at: Option<Instant>, free: u32, procs: u32) -> Self {
        match at {
            Some(at) => Self {
                at,
                extra: free - procs,
            },
            None => Self {
                at: Instant::MAX,
                extra: 0,
            },
        }
    }

    /// Returns the backfill window at `now` with `idle` processors idle.
    pub(super) fn window(&self, now: Instant, idle: u32) -> BackfillWindow {
        let window = self.at.since(now);
        BackfillWindow {
            idle,
            window,
            extra: self.extra,
            class: size_class(idle),
            window_steps: steps(window),
        }
    }

    /// Accounts for a job started beside the reservation: a job that runs past the shadow time uses
    /// up extra processors.
    pub(super) fn note_start(&mut self, now: Instant, job: &QueuedJob) {
        if now + job.estimate > self.at {
            self.extra -= job.procs;
        }
    }
}

/// The time and processors a candidate may use without delaying the reservation.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackfillWindow {
    idle: u32,
    /// Maximum run time on any of the idle processors.
    window: Span,
    /// Number of processors on which a candidate may run for longer.
    extra: u32,
    /// The size class of the largest job that fits in width.
    class: usize,
    window_steps: u32,
}

impl BackfillWindow {
    /// Returns true if a waiting job fits. Evaluated without branches: in a long queue nearly every
    /// answer is no, for varying causes.
    pub(super) fn fits(&self, job: &QueuedJob) -> bool {
        let short = job.estimate <= self.window;
        (job.procs <= self.idle) & (short | (job.procs <= self.extra))
    }

    /// Returns true if one of a block's jobs may fit.
    pub(super) fn may_fit(&self, least: &BlockMinima) -> bool {
        let short = least.shortest(self.class) <= self.window_steps;
        (least.procs <= self.idle) & (short | (least.procs <= self.extra))
    }
}
