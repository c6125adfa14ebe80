//! The earnings of the same schedule under other bids.

use tollgate_model::{Credits, Decision, Market, Outcome, PenaltyLimit};
use tollgate_policy::PolicySpec;
use tollgate_policy::toolkit::price;
use tollgate_workload::JobArrival;

/// Returns true if a policy ignores budgets and penalty rates where users bid, so that other bids
/// change the earnings of its schedule and nothing else. Such a policy also runs without a market.
/// Nothing is known of a policy that is another program.
pub fn is_blind_to_bids(choice: &PolicySpec) -> bool {
    choice.runs_in(Market::None) && !choice.is_external()
}

/// Recomputes the earnings of a schedule of the bid-based market under the budgets and penalty
/// rates of `arrivals`: the same jobs in the same order, identical but for their bids. An accepted
/// job earns its budget less the cost of its delay (Yeo & Buyya 2008, eq. 9), up to the limit, a
/// rejected job nothing.
///
/// # Panics
/// If the numbers of arrivals and outcomes differ.
pub fn rebid(outcomes: &mut [Outcome], arrivals: &[JobArrival], limit: PenaltyLimit) {
    assert_eq!(outcomes.len(), arrivals.len(), "the same jobs");
    for (outcome, arrival) in outcomes.iter_mut().zip(arrivals) {
        let sla = arrival.spec.sla;
        outcome.budget = sla.budget.unwrap_or_default();
        (outcome.price, outcome.utility) = match outcome.decision {
            Decision::Accepted => {
                let penalty = limit.cost(sla.penalty, outcome.delay(), sla.budget);
                (outcome.budget, outcome.budget - penalty)
            }
            Decision::Unpromised => {
                let price = price::unpromised(Market::Bid, &arrival.spec);
                (price, price)
            }
            Decision::Rejected(_) => (Credits::ZERO, Credits::ZERO),
        };
    }
}
