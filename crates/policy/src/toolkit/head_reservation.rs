//! The reservation of EASY backfilling: the start of the queue's head, and the processors it leaves
//! over.
//!
//! Lifka 1995; Mu'alem & Feitelson 2001. One reservation needs no profile of free processors: two
//! numbers are enough to test a candidate.

use tollgate_model::{Instant, Span};

use crate::state::View;

/// The reservation of the job at the head of the queue.
///
/// ```
/// use tollgate_model::{Credits, Instant, JobSpec, Sla, Span, UserId};
/// use tollgate_policy::{ClusterState, View, toolkit::HeadReservation};
///
/// let now = Instant::ZERO;
/// let mut state = ClusterState::default();
/// state.add_nodes(4);
/// let running = state.insert(JobSpec {
///     submit: now,
///     estimate: Span::from_secs(100),
///     procs: 3,
///     memory: 0,
///     needs: Default::default(),
///     restarts: 0,
///     user: UserId(0),
///     sla: Sla::default(),
/// });
/// state.start_exclusive(running, now, Credits::ZERO);
///
/// // The head of the queue needs two processors and gets them when the running job ends.
/// let mut head = HeadReservation::of(View::new(&state, now), 2);
/// assert_eq!((head.at, head.extra), (Instant::from_secs(100), 2));
/// // A job on the idle processor may run past that time, on one of the two left over.
/// let window = head.window(now, state.n_idle());
/// assert!(window.fits(1, Span::from_secs(500)));
/// head.note_start(now, 1, Span::from_secs(500));
/// assert_eq!(head.extra, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadReservation {
    /// Its start by the estimates: the shadow time. [`Instant::MAX`] if the nodes that are up can
    /// never hold the job.
    pub at: Instant,
    /// Processors that are free at the shadow time and not needed by the job.
    pub extra: u32,
}

impl HeadReservation {
    /// Returns the reservation of a job that needs `procs` processors, more than are idle. A
    /// running job past its estimate is assumed to end at once.
    pub fn of(view: View<'_>, procs: u32) -> Self {
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
    pub fn window(&self, now: Instant, idle: u32) -> BackfillWindow {
        BackfillWindow {
            idle,
            length: self.at.since(now),
            extra: self.extra,
        }
    }

    /// Accounts for a job started beside the reservation, which fitted the window: a job that runs
    /// past the shadow time uses up extra processors.
    pub fn note_start(&mut self, now: Instant, procs: u32, estimate: Span) {
        if now + estimate > self.at {
            self.extra -= procs;
        }
    }
}

/// The time and processors a candidate may use without delaying the reservation.
#[derive(Clone, Copy, Debug)]
pub struct BackfillWindow {
    /// Number of idle processors.
    pub idle: u32,
    /// Maximum run time on any of the idle processors; negative if the shadow time has passed.
    pub length: Span,
    /// Number of processors on which a candidate may run for longer.
    pub extra: u32,
}

impl BackfillWindow {
    /// Returns true if a job of `procs` processors fits. Evaluated without branches: in a long queue
    /// nearly every answer is no, for varying causes.
    #[inline]
    pub fn fits(&self, procs: u32, estimate: Span) -> bool {
        let short = estimate <= self.length;
        (procs <= self.idle) & (short | (procs <= self.extra))
    }
}
