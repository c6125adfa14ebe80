//! The pass with several reservations.

use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::PolicyContext;
use tollgate_policy::toolkit::{BlockCursor, BlockEntry as _};

use super::order::QueueKey;
use super::queued_job::QueuedJob;
use super::reservation_plan::ReservationPlan;
use super::{QueuePolicy, ReservationDepth, SHORT_QUEUE};

impl QueuePolicy {
    /// Runs the pass with several reservations: each job in order gets the earliest hole, and
    /// starts if the hole begins now.
    pub(super) fn profile_pass(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let only_starts = self.settings.keeps_plan() && !cx.needs_reservations();
        let kept = self.plan.take();
        let overrun = cx.first_estimated_end().is_some_and(|end| end <= now);
        let mut plan = match kept.filter(|plan| !overrun && plan.holds(cx.view())) {
            Some(mut plan) => {
                plan.discard_before(now);
                self.start_reserved(cx, &mut plan);
                plan
            }
            None => {
                let is_long = self.queue.len() > SHORT_QUEUE;
                let may_leave_out =
                    only_starts && is_long && self.settings.depth == ReservationDepth::All;
                let reach = if may_leave_out { self.reach } else { Span::MAX };
                ReservationPlan::of(cx.view(), reach)
            }
        };
        if only_starts {
            self.place_candidates(cx, &mut plan);
        } else {
            let mut cursor = self.cursor_behind(plan.placed);
            while let Some((at, job)) = self.queue.find(cursor, |_| true, |_| true) {
                cursor = self.place(cx, &mut plan, at, &job);
            }
        }
        self.plan = (self.settings.keeps_plan() && !overrun).then_some(plan);
    }

    /// Starts the jobs whose reservation of an earlier pass begins now.
    fn start_reserved(&mut self, cx: &mut PolicyContext<'_>, plan: &mut ReservationPlan) {
        let now = cx.now();
        plan.reservations.retain(|&(at, _, key)| {
            let waits = at > now;
            if !waits && let Some(job) = self.queue.remove(key) {
                self.start(cx, job.id);
            }
            waits
        });
    }

    /// Places jobs in order up to the last one that starts now. Whether a job starts depends on all jobs
    /// before it; but a job that does not fit beside some of them fits beside no more of them.
    fn place_candidates(&mut self, cx: &mut PolicyContext<'_>, plan: &mut ReservationPlan) {
        let now = cx.now();
        let mut cursor = self.cursor_behind(plan.placed);
        let mut from = cursor;
        while let Some((place, candidate)) = self.find_candidate(plan, now, from) {
            if !plan.decides(now, &candidate) {
                let longer = self.reach.max(candidate.estimate);
                self.reach = longer + longer;
                *plan = ReservationPlan::of(cx.view(), self.reach);
                (cursor, from) = Default::default();
                continue;
            }
            from = place;
            if !self.settings.depth.covers(plan.reservations.len()) {
                cursor = place;
            }
            while plan.fits(now, &candidate) && plan.decides(now, &candidate) {
                let windows = plan.windows();
                let next = self.queue.find(
                    cursor,
                    |least| windows.may_hold(least),
                    |job| windows.may_fit(job),
                );
                let (at, job) = next.expect("the candidate is not placed yet");
                cursor = self.place(cx, plan, at, &job);
                if job.key() == candidate.key() {
                    from = cursor;
                    break;
                }
            }
        }
    }

    /// Returns the first job from `from` on that fits now, and its position.
    fn find_candidate(
        &self,
        plan: &ReservationPlan,
        now: Instant,
        from: BlockCursor,
    ) -> Option<(BlockCursor, QueuedJob)> {
        let windows = plan.start_windows(now);
        self.queue.find(
            from,
            |least| windows.may_hold(least),
            |job| plan.fits(now, job),
        )
    }

    /// Returns the position of the first job that is not placed yet.
    fn cursor_behind(&self, placed: Option<QueueKey>) -> BlockCursor {
        placed.map_or_else(BlockCursor::default, |key| self.queue.cursor_behind(key))
    }

    /// Gives a job the earliest hole, and starts it if the hole begins now. Returns the position of the
    /// next job.
    fn place(
        &mut self,
        cx: &mut PolicyContext<'_>,
        plan: &mut ReservationPlan,
        at: BlockCursor,
        job: &QueuedJob,
    ) -> BlockCursor {
        let (test, now) = (self.settings.test, cx.now());
        plan.placed = Some(job.key());
        let hole = self.hole(cx, plan, job);
        let starts =
            hole == Some(now) && (self.settings.extra || now + job.estimate <= plan.first_reserved);
        let dropped = if starts {
            test.drop_at_start(job, now)
        } else {
            test.drop_on_scan(job, now)
        };
        if let Some(reason) = dropped {
            self.queue.remove_at(at);
            cx.reject(job.id, reason);
            return at;
        }
        if starts {
            self.queue.remove_at(at);
            plan.note_start(now, job);
            self.start(cx, job.id);
            return at;
        }
        if self.settings.depth.covers(plan.reservations.len())
            && let Some(hole) = hole
        {
            plan.reserve(hole, job);
            self.note_reservation(cx, job.id, hole);
        }
        at.next()
    }

    /// Records a reservation. A reservation that is recomputed at every pass begins when some job
    /// ends, so a pass happens anyway; a reservation that is kept may begin when nothing else
    /// happens. The end of a job past its estimate cannot be waited for.
    fn note_reservation(&self, cx: &mut PolicyContext<'_>, job: JobId, at: Instant) {
        cx.note_reservation(job, at);
        if !self.settings.compress && at > cx.now() + Span::TICK {
            cx.request_pass_at(at);
        }
    }

    /// Returns the hole for a job: its planned place if reservations are kept and it still fits
    /// there, else the earliest hole.
    fn hole(
        &self,
        cx: &PolicyContext<'_>,
        plan: &mut ReservationPlan,
        job: &QueuedJob,
    ) -> Option<Instant> {
        let planned = cx.job(job.id).planned;
        planned
            .filter(|_| !self.settings.compress)
            .map(|at| at.max(cx.now()))
            .filter(|&at| plan.fits(at, job))
            .or_else(|| plan.hole(cx.now(), job))
    }
}
