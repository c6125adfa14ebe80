//! The cost of a job where the price is fixed.
//!
//! ```
//! use tollgate_model::{Credits, Instant, JobSpec, Market, Reason, Sla, Span, UserId};
//! use tollgate_policy::toolkit::price;
//!
//! let job = JobSpec {
//!     submit: Instant::ZERO,
//!     estimate: Span::from_secs(100),
//!     procs: 1,
//!     memory: 0,
//!     user: UserId(0),
//!     sla: Sla {
//!         deadline: Some(Span::from_secs(200)),
//!         budget: Some(Credits::from_f64(100.0)),
//!         ..Sla::default()
//!     },
//! };
//! let flat = price::flat(Market::Commodity, &job);
//! assert_eq!(price::within_budget(Market::Commodity, &job, flat), Ok(flat));
//! // Half a credit more for a deadline of twice the estimate.
//! let price = price::with_incentive(Market::Commodity, &job);
//! assert_eq!(price, Credits::from_f64(100.5));
//! let answer = price::within_budget(Market::Commodity, &job, price);
//! assert_eq!(answer, Err(Reason::OverBudget));
//! ```

use tollgate_model::{Credits, JobSpec, Market, Reason};

use crate::state::requested_share;

/// Price of a second of estimated run time, in credits (Yeo & Buyya 2008, §5.2: PBase of $1).
const BASE_PRICE: f64 = 1.0;

/// Returns the price of a job under a policy that charges by the estimate alone; in the bid-based
/// market the user's bid; zero without a market.
pub fn flat(market: Market, spec: &JobSpec) -> Credits {
    match market {
        Market::None => Credits::ZERO,
        Market::Commodity => Credits::from_f64(spec.estimate.as_secs_f64() * BASE_PRICE),
        Market::Bid => spec.sla.budget.unwrap_or(Credits::ZERO),
    }
}

/// Returns Libra's price in the commodity market (ibid.): gamma x estimate + delta x estimate /
/// deadline with gamma = delta = 1, an incentive for relaxed deadlines; elsewhere as [`flat`].
pub fn with_incentive(market: Market, spec: &JobSpec) -> Credits {
    match market {
        Market::None | Market::Bid => flat(market, spec),
        Market::Commodity => {
            let estimate = spec.estimate.as_secs_f64();
            Credits::from_f64(estimate + requested_share(spec))
        }
    }
}

/// Returns the price of a job that can pay it. In the commodity market the budget is a limit, in the
/// other markets it is none.
///
/// # Errors
/// Returns [`Reason::OverBudget`] if the job would cost more than its budget.
pub fn within_budget(market: Market, spec: &JobSpec, price: Credits) -> Result<Credits, Reason> {
    match (market, spec.sla.budget) {
        (Market::Commodity, Some(budget)) if price > budget => Err(Reason::OverBudget),
        (Market::None | Market::Commodity | Market::Bid, _) => Ok(price),
    }
}
