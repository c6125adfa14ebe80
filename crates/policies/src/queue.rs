//! The family of space-shared policies: an ordered queue, one job per processor.
//!
//! The family's common parameter is the **depth**: the number of waiting jobs with a reservation that later
//! jobs must not delay. It is 0 (strictly in order), one (EASY), a few, or all (conservative). The other axes
//! are the order of the queue, whether a candidate may use what a reservation leaves over, when a hopeless
//! job is dropped, and when passes happen.

mod order;
mod queued_job;
mod reservation_plan;
mod settings;
mod slack;

use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, Instant, JobId, JobSpec, Market, NodeRange, Reason,
    Span,
};
use tollgate_policy::toolkit::{
    BlockCursor, BlockEntry, BlockedList, HeadReservation, fits_machine, price,
};
use tollgate_policy::{
    AdmissionDecision, InvariantViolation, JobPhase, JobSlot, PassTrigger, Policy, PolicyContext,
    ProbeScratch, View,
};

use crate::deadline_tail::runtime_model::RuntimeModel;
use order::QueueKey;
use queued_job::{BlockWindow, QueuedJob};
use reservation_plan::ReservationPlan;

pub use order::QueueOrder;
pub use queued_job::DropRule;
pub use settings::{FeasibilityRule, QueueAdmissionTest, QueueParams, ReservationDepth};
pub use slack::{PenaltyScope, SlackTest};

/// A space-shared policy.
#[derive(Clone, Debug)]
pub struct QueuePolicy {
    settings: QueueParams,
    market: Market,
    queue: BlockedList<QueuedJob>,
    /// Result of the last complete scan, valid while nothing but submissions has happened since.
    blocked: Option<BlockedQueue>,
    /// The reservations of the last pass, valid while jobs are submitted and end when they were expected
    /// to, and nothing else happens.
    plan: Option<ReservationPlan>,
    /// The time for which a new plan is complete.
    reach: Span,
    penalties: PenaltyTotals,
}

/// Maximum number of waiting jobs of which none is left out of a plan: their reservations cost less than
/// plans that are soon no longer complete.
const SHORT_QUEUE: usize = 64;

/// A blocked queue: neither the head nor any other job fits.
#[derive(Clone, Debug)]
struct BlockedQueue {
    head: QueuedJob,
    shadow: HeadReservation,
    /// Jobs submitted since. Only they can be candidates, because time alone makes no job fit.
    arrivals: Vec<QueuedJob>,
}

/// Sums of the penalty rates of accepted, unfinished jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PenaltyTotals {
    waiting: CreditsPerSecond,
    running: CreditsPerSecond,
}

impl QueuePolicy {
    /// Creates a policy with these settings in this market.
    pub fn new(settings: QueueParams, market: Market) -> Self {
        Self {
            settings,
            market,
            queue: BlockedList::default(),
            blocked: None,
            plan: None,
            reach: Span::ZERO,
            penalties: PenaltyTotals::default(),
        }
    }

    fn admit(&self, view: View<'_>, spec: &JobSpec) -> Result<AdmissionDecision, Reason> {
        fits_machine(view, spec)?;
        let price = self.price(spec);
        price::within_budget(self.market, spec, price)?;
        match self.settings.admission {
            QueueAdmissionTest::None => Ok(AdmissionDecision::Queue),
            QueueAdmissionTest::Slack => {
                let others = match self.settings.slack.count {
                    PenaltyScope::All => self.penalties.waiting + self.penalties.running,
                    PenaltyScope::Waiting => self.penalties.waiting,
                };
                self.settings.slack.check_slack(spec, others)?;
                Ok(AdmissionDecision::Promise { price, due: None })
            }
        }
    }

    /// Returns the cost of a job. A policy that rejects no job charges at most the budget.
    fn price(&self, spec: &JobSpec) -> Credits {
        let price = price::flat(self.market, spec, self.settings.base_price);
        match spec.sla.budget {
            Some(budget) if self.settings.admits_all() => price.min(budget),
            Some(_) | None => price,
        }
    }

    fn entry(&self, view: View<'_>, id: JobId) -> QueuedJob {
        let job = view.job(id);
        let least = match self.settings.feasibility {
            FeasibilityRule::Estimate => job.spec.estimate,
            FeasibilityRule::Chance(level) => {
                RuntimeModel::of(&job.spec, view.forecast(id)).quantile(level)
            }
        };
        QueuedJob::new(id, job, self.key(job), least)
    }

    /// Forgets what the last pass found, because more than submissions has happened.
    fn forget_last_pass(&mut self) {
        self.blocked = None;
        self.plan = None;
    }

    fn key(&self, job: &JobSlot) -> QueueKey {
        self.settings.order.key(job, &self.settings.slack)
    }

    fn start(&mut self, cx: &mut PolicyContext<'_>, job: JobId) {
        let entry = cx.job(job);
        let (spec, promised) = (entry.spec, entry.accepted.is_some());
        if promised {
            self.penalties.waiting = self.penalties.waiting - spec.sla.penalty;
        }
        self.penalties.running = self.penalties.running + spec.sla.penalty;
        cx.start(job, self.price(&spec));
    }

    /// Starts or drops jobs from the head on, until one does not fit now.
    fn start_heads(&mut self, cx: &mut PolicyContext<'_>) -> Option<QueuedJob> {
        let test = self.settings.test;
        while let Some(&head) = self.queue.first() {
            let fits = head.procs <= cx.n_idle();
            let dropped = if fits {
                test.drop_at_start(&head, cx.now())
            } else {
                test.drop_on_scan(&head, cx.now())
            };
            if !fits && dropped.is_none() {
                return Some(head);
            }
            self.queue.remove(head.key());
            match dropped {
                Some(reason) => cx.reject(head.id, reason),
                None => self.start(cx, head.id),
            }
        }
        None
    }

    /// Runs the pass with at most one reservation.
    fn shadow_pass(&mut self, cx: &mut PolicyContext<'_>) {
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

    /// Runs the pass with several reservations: each job in order gets the earliest hole, and
    /// starts if the hole begins now.
    fn profile_pass(&mut self, cx: &mut PolicyContext<'_>) {
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

impl Policy for QueuePolicy {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        _: Option<&Distribution>,
        _: &mut ProbeScratch,
    ) -> AdmissionDecision {
        self.admit(view, spec)
            .unwrap_or_else(AdmissionDecision::Reject)
    }

    fn clear(&mut self) {
        *self = Self::new(self.settings, self.market);
    }

    fn queued(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        let entry = self.entry(view, id);
        self.queue.insert(entry);
        if job.accepted.is_some() {
            self.penalties.waiting = self.penalties.waiting + job.spec.sla.penalty;
        }
        match &mut self.blocked {
            Some(blocked) if blocked.head.key() < entry.key() => blocked.arrivals.push(entry),
            Some(_) | None => self.blocked = None,
        }
        let plan = self.plan.take();
        self.plan = plan.filter(|plan| plan.placed.is_none_or(|placed| placed < entry.key()));
    }

    fn dequeued(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        let key = self.key(job);
        self.queue.remove(key);
        if job.accepted.is_some() {
            self.penalties.waiting = self.penalties.waiting - job.spec.sla.penalty;
        }
        self.forget_last_pass();
    }

    fn ended(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        self.penalties.running = self.penalties.running - job.spec.sla.penalty;
        let plan = self.plan.take();
        self.forget_last_pass();
        // A start takes one of a limited number of reservations away from those that the next pass would
        // make. A job that is dropped at its start leaves a reservation without a job.
        let has_all = self.settings.depth == ReservationDepth::All;
        let in_time = job.estimated_end() == Some(view.now);
        let keeps = has_all && in_time && self.settings.test == DropRule::None;
        self.plan = plan.filter(|_| keeps);
    }

    fn start_follower(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: JobId,
        nodes: &[NodeRange],
    ) -> bool {
        let starts = cx.start_held(job, nodes);
        if starts {
            let penalty = cx.job(job).spec.sla.penalty;
            self.penalties.running = self.penalties.running + penalty;
            self.forget_last_pass();
        }
        starts
    }

    fn nodes_changed(&mut self, _: View<'_>) {
        self.forget_last_pass();
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        match self.settings.depth {
            ReservationDepth::AtMost(0 | 1) => self.shadow_pass(cx),
            ReservationDepth::AtMost(_) | ReservationDepth::All => self.profile_pass(cx),
        }
    }

    fn rebuild(&mut self, view: View<'_>) {
        self.clear();
        for (id, job) in view.jobs() {
            let penalty = if job.accepted.is_some() {
                job.spec.sla.penalty
            } else {
                CreditsPerSecond::ZERO
            };
            match job.phase {
                JobPhase::Queued => {
                    let entry = self.entry(view, id);
                    self.queue.insert(entry);
                    self.penalties.waiting = self.penalties.waiting + penalty;
                }
                JobPhase::Running => self.penalties.running = self.penalties.running + penalty,
                JobPhase::Vacant | JobPhase::Held | JobPhase::Closed => {}
            }
        }
    }

    fn pass_cost(&self, _: View<'_>) -> usize {
        let waiting = self.queue.len();
        match self.settings.depth {
            // One look per block, and some looks inside.
            ReservationDepth::AtMost(0 | 1) => waiting.div_ceil(8),
            // Each job is placed among the reservations of all jobs before it.
            ReservationDepth::AtMost(_) | ReservationDepth::All => waiting * waiting,
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation> {
        let mut rebuilt = self.clone();
        rebuilt.rebuild(view);
        if !self.queue.iter().eq(rebuilt.queue.iter()) {
            return Err(InvariantViolation(
                "the queue's index has drifted".to_owned(),
            ));
        }
        if self.penalties != rebuilt.penalties {
            return Err(InvariantViolation(
                "the queue's penalty sums have drifted".to_owned(),
            ));
        }
        Ok(())
    }

    fn pass_trigger(&self) -> PassTrigger {
        self.settings.pass
    }
}
