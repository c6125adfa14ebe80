//! What the same schedule earns when users bid otherwise.

use tollgate_model::{Credits, Decision, Market, Outcome};
use tollgate_policy::PolicySpec;
use tollgate_workload::JobArrival;

/// Whether a policy decides without looking at budgets and penalty rates where users bid, so that
/// other bids change what its schedule earns and nothing else. Such a policy also runs where
/// nobody pays.
pub fn is_blind_to_bids(choice: &PolicySpec) -> bool {
    choice.runs_in(Market::None)
}

/// Accounts a schedule of the bid-based market anew, under the budgets and penalty rates of
/// `arrivals`: the same jobs in the same order, alike but for their bids. An accepted job earns
/// its budget less what its delay costs (Yeo & Buyya 2008, eq. 9), a rejected one nothing.
///
/// # Panics
/// If there is not one arrival an outcome.
pub fn rebid(outcomes: &mut [Outcome], arrivals: &[JobArrival]) {
    assert_eq!(outcomes.len(), arrivals.len(), "the same jobs");
    for (outcome, arrival) in outcomes.iter_mut().zip(arrivals) {
        let sla = arrival.spec.sla;
        outcome.budget = sla.budget.unwrap_or_default();
        (outcome.price, outcome.utility) = match outcome.decision {
            Decision::Accepted => {
                let penalty = sla.penalty.times(outcome.delay());
                (outcome.budget, outcome.budget - penalty)
            }
            Decision::Rejected(_) => (Credits::ZERO, Credits::ZERO),
        };
    }
}
