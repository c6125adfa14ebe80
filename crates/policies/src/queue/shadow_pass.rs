//! The pass with at most one reservation.

use tollgate_model::Instant;
use tollgate_policy::toolkit::{BlockCursor, BlockEntry, HeadReservation};
use tollgate_policy::{InvariantViolation, PolicyContext, View};

use super::queued_job::{BlockWindow, QueuedJob};
use super::{BlockedQueue, QueuePolicy, ReservationDepth};

impl QueuePolicy {
    /// Runs the pass with at most one reservation.
    pub(super) fn shadow_pass(&mut self, cx: &mut PolicyContext<'_>) {
        if self.only_arrivals(cx.now()) {
            return self.backfill_arrivals(cx);
        }
        self.blocked = None;
        let Some(head) = self.start_heads(cx) else {
            return;
        };
        let mut shadow = HeadReservation {
            at: Instant::MAX,
            extra: 0,
        };
        if self.settings.depth != ReservationDepth::AtMost(0) {
            shadow = HeadReservation::of(cx.view(), head.procs);
            cx.note_reservation(head.id, shadow.at);
            self.limit_extra(&mut shadow);
            self.backfill(cx, &head, &mut shadow);
        }
        self.blocked = Some(BlockedQueue {
            head,
            shadow,
            arrivals: Vec::new(),
        });
    }

    /// Clears the reservation's extra processors if the rule of the extra processors is off.
    fn limit_extra(&self, shadow: &mut HeadReservation) {
        if !self.settings.extra {
            shadow.extra = 0;
        }
    }

    /// Returns true if nothing but submissions behind the head happened since the last complete
    /// scan. A policy that drops on sight must look at every job; and a shadow time in the past
    /// moves on with the clock.
    fn only_arrivals(&self, now: Instant) -> bool {
        let drops_on_sight = self.settings.test.drops_on_sight();
        let blocked = self.blocked.as_ref();
        blocked.is_some_and(|blocked| !drops_on_sight && blocked.shadow.at >= now)
    }

    fn backfill_arrivals(&mut self, cx: &mut PolicyContext<'_>) {
        let Some(mut blocked) = self.blocked.take() else {
            return;
        };
        if self.settings.depth != ReservationDepth::AtMost(0) {
            blocked.arrivals.sort_unstable_by_key(BlockEntry::key);
            for job in &blocked.arrivals {
                let window = blocked.shadow.window(cx.now(), cx.n_idle());
                if window.fits(job.procs, job.estimate) {
                    self.queue.remove(job.key());
                    self.start_candidate(cx, job, &mut blocked.shadow);
                    let (head, at) = (blocked.head, blocked.shadow.at);
                    cx.verify(|view| check_reservation_unmoved(view, head.procs, at));
                }
            }
        }
        blocked.arrivals.clear();
        self.blocked = Some(blocked);
    }

    /// Starts, in order, every job behind the head that does not delay the head's reservation.
    fn backfill(
        &mut self,
        cx: &mut PolicyContext<'_>,
        head: &QueuedJob,
        shadow: &mut HeadReservation,
    ) {
        let (test, now) = (self.settings.test, cx.now());
        let mut cursor = BlockCursor::default().next();
        while cx.n_idle() > 0 {
            let room = BlockWindow::new(shadow.window(now, cx.n_idle()));
            let found = self.queue.find(
                cursor,
                |least| room.may_fit(least) || test.may_drop_on_scan(least, now),
                |job| room.fits(job) || test.drop_on_scan(job, now).is_some(),
            );
            let Some((at, job)) = found else {
                return;
            };
            self.queue.remove_at(at);
            cursor = at;
            match test.drop_on_scan(&job, now) {
                Some(reason) => cx.reject(job.id, reason),
                None => self.start_candidate(cx, &job, shadow),
            }
            cx.verify(|view| check_reservation_unmoved(view, head.procs, shadow.at));
        }
    }

    /// Starts a job that fits beside the reservation, or drops it if it is hopeless.
    fn start_candidate(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: &QueuedJob,
        shadow: &mut HeadReservation,
    ) {
        match self.settings.test.drop_at_start(job, cx.now()) {
            Some(reason) => cx.reject(job.id, reason),
            None => {
                self.start(cx, job.id);
                shadow.note_start(cx.now(), job.procs, job.estimate);
            }
        }
    }
}

/// Checks that no backfill of a pass moved the shadow time computed in the pass.
fn check_reservation_unmoved(
    view: View<'_>,
    head_procs: u32,
    at: Instant,
) -> Result<(), InvariantViolation> {
    let moved = HeadReservation::of(view, head_procs).at;
    if moved <= at {
        return Ok(());
    }
    Err(InvariantViolation(format!(
        "at {} a backfilled job moved the shadow time from {at} to {moved}",
        view.now
    )))
}
