//! The input and the output of an oracle.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, JobSpec, Market, NodeId, Reason, Span};

/// A delay of at most a millisecond counts as no delay.
const DELAY_TOLERANCE: Span = Span::from_micros(1_000);

/// A job with the truth about its run time. Its index in the list is its job order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleJob {
    /// The facts that a scheduler may know.
    pub spec: JobSpec,
    /// True run time on each of its nodes, alone, of speed 1. Positive.
    pub runtime: Span,
}

/// The outcome of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct OracleOutcome {
    /// The admission decision.
    pub decision: Decision,
    /// The time of the decision: at submission, at the job's start, or when it was dropped.
    pub decided: Instant,
    /// The run interval; None for a rejected job.
    pub ran: Option<RunInterval>,
    /// The charge in the commodity market; zero in any other and for a rejected job.
    pub price: Credits,
    /// The provider's earnings; zero without a market and for a rejected job.
    pub utility: Credits,
    /// The job's nodes in ascending order; empty for a rejected job.
    pub nodes: Vec<NodeId>,
}

impl OracleJob {
    /// Returns the job as it is on a node of this speed: with its run time and its estimate over the speed.
    #[must_use]
    pub fn at_speed(&self, speed: f64) -> Self {
        let over = |span: Span| Span::from_secs_f64(span.as_secs_f64() / speed);
        let mut job = *self;
        job.runtime = over(self.runtime);
        job.spec.estimate = over(self.spec.estimate);
        job
    }

    /// Returns the budget; a job without a budget bids zero.
    pub fn bid(&self) -> Credits {
        self.spec.sla.budget.unwrap_or(Credits::ZERO)
    }

    /// Returns true if `price` is above the budget; false without a budget.
    pub fn cannot_pay(&self, price: Credits) -> bool {
        self.spec.sla.budget.is_some_and(|budget| price > budget)
    }

    /// Returns the delay of a finish at `finish` past the deadline (Yeo & Buyya 2008, eq. 10); at
    /// most a millisecond is no delay.
    pub fn delay(&self, finish: Instant) -> Span {
        match self.spec.due() {
            Some(due) if finish.since(due) > DELAY_TOLERANCE => finish.since(due),
            Some(_) | None => Span::ZERO,
        }
    }

    /// Returns the provider's earnings for a finish at `finish` and a charge of `price`: the charge
    /// in the commodity market, eq. 9 where users bid.
    pub fn utility(&self, market: Market, price: Credits, finish: Instant) -> Credits {
        match market {
            Market::None => Credits::ZERO,
            Market::Commodity => price,
            Market::Bid => self.bid() - self.spec.sla.penalty.times(self.delay(finish)),
        }
    }
}

impl OracleOutcome {
    /// Creates the outcome of a job rejected at `decided`.
    pub fn rejected(reason: Reason, decided: Instant) -> Self {
        Self {
            decision: Decision::Rejected(reason),
            decided,
            ran: None,
            price: Credits::ZERO,
            utility: Credits::ZERO,
            nodes: Vec::new(),
        }
    }

    /// Returns true if the job finished within the deadline of `job`.
    pub fn fulfilled(&self, job: &OracleJob) -> bool {
        self.ran
            .is_some_and(|ran| job.delay(ran.finish) == Span::ZERO)
    }
}
