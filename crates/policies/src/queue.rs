//! The family of space-shared policies: an ordered queue, one job per processor.
//!
//! The family's common parameter is the **depth**: the number of waiting jobs with a reservation
//! that later jobs must not delay: 0 (strictly in order), one (EASY), a few, or all (conservative).
//! The other axes are the order of the queue, whether a candidate may use what a reservation leaves
//! over, when a hopeless job is dropped, and when passes happen.

mod order;
mod queued_job;
mod settings;
mod slack;

use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, Instant, JobId, JobSpec, Market, Reason, Span,
};
use tollgate_policy::toolkit::{
    BlockCursor, BlockEntry, BlockedList, CapacityProfile, HeadReservation, fits_machine, price,
};
use tollgate_policy::{
    AdmissionDecision, InvariantViolation, JobPhase, JobSlot, PassTrigger, Policy, PolicyContext,
    ProbeScratch, View,
};

use crate::deadline_tail::runtime_model::RuntimeModel;
use order::QueueKey;
use queued_job::{BlockWindow, QueuedJob};

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
    penalties: PenaltyTotals,
}

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
        let drops_on_sight = match self.settings.test {
            DropRule::None | DropRule::Start => false,
            DropRule::Select | DropRule::Mixed => true,
        };
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
        let (test, now) = (self.settings.test, cx.now());
        let mut profile = CapacityProfile::of(cx.view());
        let mut reserved = 0;
        let mut first_reserved = Instant::MAX;
        let jobs: Vec<QueuedJob> = self.queue.iter().copied().collect();
        for job in jobs {
            let at = self.hole(cx, &profile, &job);
            let starts =
                at == Some(now) && (self.settings.extra || now + job.estimate <= first_reserved);
            let dropped = if starts {
                test.drop_at_start(&job, now)
            } else {
                test.drop_on_scan(&job, now)
            };
            if let Some(reason) = dropped {
                self.queue.remove(job.key());
                cx.reject(job.id, reason);
            } else if starts {
                self.queue.remove(job.key());
                profile.reserve(now, job.procs, job.estimate);
                self.start(cx, job.id);
            } else if self.settings.depth.covers(reserved)
                && let Some(at) = at
            {
                reserved += 1;
                first_reserved = first_reserved.min(at);
                profile.reserve(at, job.procs, job.estimate);
                self.note_reservation(cx, job.id, at);
            }
        }
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
        profile: &CapacityProfile,
        job: &QueuedJob,
    ) -> Option<Instant> {
        let planned = cx.job(job.id).planned;
        planned
            .filter(|_| !self.settings.compress)
            .map(|at| at.max(cx.now()))
            .filter(|&at| profile.fits(at, job.procs, job.estimate))
            .or_else(|| profile.earliest(cx.now(), job.procs, job.estimate))
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
    }

    fn dequeued(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        let key = self.key(job);
        self.queue.remove(key);
        if job.accepted.is_some() {
            self.penalties.waiting = self.penalties.waiting - job.spec.sla.penalty;
        }
        self.blocked = None;
    }

    fn ended(&mut self, view: View<'_>, id: JobId) {
        let penalty = view.job(id).spec.sla.penalty;
        self.penalties.running = self.penalties.running - penalty;
        self.blocked = None;
    }

    fn nodes_changed(&mut self, _: View<'_>) {
        self.blocked = None;
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
