//! The cost of a job where the price is fixed.
//!
//! ```
//! use tollgate_model::{Credits, Instant, JobSpec, Market, Reason, Sla, Span, UserId};
//! use tollgate_policy::toolkit::price::{self, IncentiveFactors};
//!
//! let job = JobSpec {
//!     submit: Instant::ZERO,
//!     estimate: Span::from_secs(100),
//!     procs: 1,
//!     memory: 0,
//!     needs: Default::default(),
//!     restarts: 0,
//!     user: UserId(0),
//!     sla: Sla {
//!         deadline: Some(Span::from_secs(200)),
//!         budget: Some(Credits::from_f64(100.0)),
//!         ..Sla::default()
//!     },
//! };
//! let flat = price::flat(Market::Commodity, &job, price::BASE_PRICE);
//! assert_eq!(price::within_budget(Market::Commodity, &job, flat), Ok(flat));
//! // Half a credit more for a deadline of twice the estimate.
//! let price = price::with_incentive(Market::Commodity, &job, IncentiveFactors::DEFAULT);
//! assert_eq!(price, Credits::from_f64(100.5));
//! let answer = price::within_budget(Market::Commodity, &job, price);
//! assert_eq!(answer, Err(Reason::OverBudget));
//! ```

use tollgate_model::{Credits, JobSpec, Market, Reason};

use crate::state::requested_share;

/// Price of a second of estimated run time, in credits (Yeo & Buyya 2008, §5.2: PBase of $1).
pub const BASE_PRICE: f64 = 1.0;

/// The factors of Libra's price in the commodity market (ibid.).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncentiveFactors {
    /// Gamma: credits per second of the estimate, so that longer jobs cost more. Not negative.
    pub gamma: f64,
    /// Delta: credits times estimate / deadline, so that relaxed deadlines cost less. Not negative.
    pub delta: f64,
}

impl IncentiveFactors {
    /// The factors of the paper's experiments.
    pub const DEFAULT: Self = Self {
        gamma: 1.0,
        delta: 1.0,
    };
}

/// Returns the price of a job under a policy that charges by the estimate alone, `base` credits per
/// second; in the bid-based market the user's bid; zero without a market.
pub fn flat(market: Market, spec: &JobSpec, base: f64) -> Credits {
    match market {
        Market::None => Credits::ZERO,
        Market::Commodity => Credits::from_f64(spec.estimate.as_secs_f64() * base),
        Market::Bid => spec.sla.budget.unwrap_or(Credits::ZERO),
    }
}

/// Returns Libra's price in the commodity market (ibid.): gamma x estimate + delta x estimate /
/// deadline, an incentive for relaxed deadlines; elsewhere as [`flat`].
pub fn with_incentive(market: Market, spec: &JobSpec, factors: IncentiveFactors) -> Credits {
    match market {
        Market::None | Market::Bid => flat(market, spec, BASE_PRICE),
        Market::Commodity => {
            let estimate = spec.estimate.as_secs_f64();
            let price = factors.gamma * estimate + factors.delta * requested_share(spec);
            Credits::from_f64(price)
        }
    }
}

/// Returns the price of a job whose deadline is not promised: the base price of its estimate, in the bid-based
/// market up to its budget; zero without a market.
pub fn unpromised(market: Market, spec: &JobSpec) -> Credits {
    let base = flat(Market::Commodity, spec, BASE_PRICE);
    match market {
        Market::None => Credits::ZERO,
        Market::Commodity => base,
        Market::Bid => base.min(spec.sla.budget.unwrap_or(base)),
    }
}

/// Returns the price of a job that can pay it. The budget is a limit only in the commodity market.
///
/// # Errors
/// Returns [`Reason::OverBudget`] if the job would cost more than its budget.
pub fn within_budget(market: Market, spec: &JobSpec, price: Credits) -> Result<Credits, Reason> {
    match (market, spec.sla.budget) {
        (Market::Commodity, Some(budget)) if price > budget => Err(Reason::OverBudget),
        (Market::None | Market::Commodity | Market::Bid, _) => Ok(price),
    }
}
