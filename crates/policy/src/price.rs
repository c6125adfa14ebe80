//! The cost of a job where the price is fixed.

use tollgate_model::{Credits, JobSpec, Market, Reason};

/// Price of a second of estimated run time, in credits (Yeo & Buyya 2008, §5.2: PBase of $1).
const BASE_PRICE: f64 = 1.0;

/// Returns the price of a job under a policy that charges by the estimate alone; in the bid-based
/// market the user's bid; zero without a market.
pub(crate) fn flat(market: Market, spec: &JobSpec) -> Credits {
    match market {
        Market::None => Credits::ZERO,
        Market::Commodity => Credits::from_f64(spec.estimate.as_secs_f64() * BASE_PRICE),
        Market::Bid => spec.sla.budget.unwrap_or(Credits::ZERO),
    }
}

/// Returns Libra's price in the commodity market (ibid.): gamma x estimate + delta x estimate /
/// deadline with gamma = delta = 1, an incentive for relaxed deadlines; elsewhere as [`flat`].
pub(crate) fn with_incentive(market: Market, spec: &JobSpec) -> Credits {
    match market {
        Market::None | Market::Bid => flat(market, spec),
        Market::Commodity => {
            let estimate = spec.estimate.as_secs_f64();
            Credits::from_f64(estimate + crate::state::requested_share(spec))
        }
    }
}

/// Rejects a job that would cost more than its budget in the commodity market; in the other markets
/// the budget is no limit.
pub(crate) fn within_budget(
    market: Market,
    spec: &JobSpec,
    price: Credits,
) -> Result<Credits, Reason> {
    match (market, spec.sla.budget) {
        (Market::Commodity, Some(budget)) if price > budget => Err(Reason::OverBudget),
        (Market::None | Market::Commodity | Market::Bid, _) => Ok(price),
    }
}
