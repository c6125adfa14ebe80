//! The reservations of a pass, as far as they can matter to it.

use tollgate_model::{Instant, Span};
use tollgate_policy::View;
use tollgate_policy::toolkit::{BlockEntry, CapacityProfile};

use super::order::QueueKey;
use super::queued_job::{HoleWindows, QueuedJob};

/// The reservations of the first waiting jobs.
///
/// Whether a job starts depends on the reservations during its run, and in a long queue nearly all
/// reservations begin later. So a plan is complete up to an instant only. A job that may run beyond it is
/// left out. If it may begin before, the plan is complete no longer than that. Up to there the profile has
/// the reservation of every job that was placed; behind, it shows at least the processors that are free.
/// Hence a hole that ends in time is the job's, and no job begins before its first hole.
#[derive(Clone, Debug)]
pub(super) struct ReservationPlan {
    profile: CapacityProfile,
    /// Each with its processors, in the order of the queue.
    pub(super) reservations: Vec<(Instant, u32, QueueKey)>,
    pub(super) first_reserved: Instant,
    /// The last job that was placed in the profile. No job behind it could start at that pass.
    pub(super) placed: Option<QueueKey>,
    /// The instant up to which the plan is complete; [`Instant::MAX`] if no job is left out.
    complete_until: Instant,
    /// Holes that begin before that instant, or did so when a job was left out.
    windows: HoleWindows,
    /// True if the windows may have become smaller since they were computed.
    reserved_since: bool,
}

impl ReservationPlan {
    /// Creates a plan without reservations, complete for `reach`.
    pub(super) fn of(view: View<'_>, reach: Span) -> Self {
        Self {
            profile: CapacityProfile::of(view),
            reservations: Vec::new(),
            first_reserved: Instant::MAX,
            placed: None,
            complete_until: view.now + reach,
            windows: HoleWindows::UNLIMITED,
            reserved_since: true,
        }
    }

    /// Returns whether the plan is complete now, and as many processors are free as it expects. A job that
    /// ends on a drained node leaves none behind.
    pub(super) fn holds(&self, view: View<'_>) -> bool {
        if self.complete_until <= view.now {
            return false;
        }
        let due = self.reservations.iter().filter(|(at, ..)| *at <= view.now);
        let due = due.map(|(_, procs, _)| procs).sum();
        let has = |procs| self.profile.fits(view.now, procs, Span::TICK);
        let left = view.n_idle().checked_sub(due);
        left.is_some_and(|left| (left == 0 || has(left)) && !has(left + 1))
    }

    /// Forgets the time before `now`.
    pub(super) fn discard_before(&mut self, now: Instant) {
        self.profile.discard_before(now);
    }

    /// Returns true if the plan shows whether a job starts now.
    pub(super) fn decides(&self, now: Instant, job: &QueuedJob) -> bool {
        now + job.estimate <= self.complete_until
    }

    /// Returns true if a job fits from `at` on.
    pub(super) fn fits(&self, at: Instant, job: &QueuedJob) -> bool {
        self.profile.fits(at, job.procs, job.estimate)
    }

    /// Returns the windows in which jobs may start now.
    pub(super) fn start_windows(&self, now: Instant) -> HoleWindows {
        HoleWindows::of(&self.profile, now, now + Span::TICK)
    }

    /// Returns windows that hold every job which begins before the plan ceases to be complete.
    pub(super) fn windows(&self) -> &HoleWindows {
        &self.windows
    }

    /// Returns the first hole for a job; None if it has none, or is left out.
    pub(super) fn hole(&mut self, now: Instant, job: &QueuedJob) -> Option<Instant> {
        let hole = self.profile.earliest(now, job.procs, job.estimate)?;
        if hole + job.estimate <= self.complete_until {
            return Some(hole);
        }
        let shorter = hole < self.complete_until;
        self.complete_until = self.complete_until.min(hole);
        if shorter || self.reserved_since {
            self.windows = HoleWindows::of(&self.profile, now, self.complete_until);
            self.reserved_since = false;
        }
        None
    }

    /// Reserves the processors of a job that starts.
    pub(super) fn note_start(&mut self, now: Instant, job: &QueuedJob) {
        self.profile.reserve(now, job.procs, job.estimate);
        self.reserved_since = true;
    }

    /// Reserves the processors of a job from a hole on.
    pub(super) fn reserve(&mut self, hole: Instant, job: &QueuedJob) {
        self.note_start(hole, job);
        self.reservations.push((hole, job.procs, job.key()));
        self.first_reserved = self.first_reserved.min(hole);
    }
}
