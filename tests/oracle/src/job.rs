//! What goes into an oracle and what comes out.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, JobSpec, Market, NodeId, Reason, Span};

/// A delay of at most a millisecond is none.
const DELAY_TOLERANCE: Span = Span::from_micros(1_000);

/// A job with the truth about its run time. Its place in the list is its job order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleJob {
    /// What a scheduler may know.
    pub spec: JobSpec,
    /// How long it really takes on each of its nodes, alone. Positive.
    pub runtime: Span,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct OracleOutcome {
    /// Let in or kept out.
    pub decision: Decision,
    /// When that was decided: at submission, at its start, or when it was dropped.
    pub decided: Instant,
    /// When it ran; none for a rejected job.
    pub ran: Option<RunInterval>,
    /// What it is charged in the commodity market; zero in any other and for a rejected job.
    pub price: Credits,
    /// What the provider earns with it; zero without a market and for a rejected job.
    pub utility: Credits,
    /// Its nodes in ascending order; empty for a rejected job.
    pub nodes: Vec<NodeId>,
}

impl OracleJob {
    /// Its budget, where no budget is a bid of nothing.
    pub fn bid(&self) -> Credits {
        self.spec.sla.budget.unwrap_or(Credits::ZERO)
    }

    /// Whether `price` is above its budget; never without one.
    pub fn cannot_pay(&self, price: Credits) -> bool {
        self.spec.sla.budget.is_some_and(|budget| price > budget)
    }

    /// By how much a finish at `finish` misses its deadline (Yeo & Buyya 2008, eq. 10); at
    /// most a millisecond is no delay.
    pub fn delay(&self, finish: Instant) -> Span {
        match self.spec.due() {
            Some(due) if finish.since(due) > DELAY_TOLERANCE => finish.since(due),
            Some(_) | None => Span::ZERO,
        }
    }

    /// What the provider earns if it finishes at `finish` and is charged `price`: the charge
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
    /// A job kept out at `decided`.
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

    /// Whether it finished within the deadline of `job`.
    pub fn fulfilled(&self, job: &OracleJob) -> bool {
        self.ran
            .is_some_and(|ran| job.delay(ran.finish) == Span::ZERO)
    }
}
