//! The family of space-shared policies: an ordered queue, one job per processor.
//!
//! The family's common parameter is the **depth**: the number of waiting jobs with a reservation that later
//! jobs must not delay. It is 0 (strictly in order), one (EASY), a few, or all (conservative). The other axes
//! are the order of the queue, whether a candidate may use what a reservation leaves over, when a hopeless
//! job is dropped, and when passes happen.

mod order;
mod profile_pass;
mod queued_job;
mod reservation_plan;
mod settings;
mod shadow_pass;
mod slack;

use order::QueueKey;
use queued_job::QueuedJob;
use reservation_plan::ReservationPlan;
use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, JobId, JobSpec, Market, NodeRange, Reason, Span,
};
use tollgate_policy::toolkit::{BlockEntry, BlockedList, HeadReservation, fits_machine, price};
use tollgate_policy::{
    AdmissionDecision, InvariantViolation, JobPhase, JobSlot, PassTrigger, Policy, PolicyContext,
    ProbeScratch, View,
};

use crate::deadline_tail::runtime_model::RuntimeModel;

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
                Ok(AdmissionDecision::Promise {
                    price,
                    due: None,
                    on_expected: false,
                })
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
