//! A variant of `c6` that lets tasks wait for a while rather than take a much worse computer: most
//! tasks are short, and a better computer is soon free.

use tollgate_model::Span;

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge, WaitRule};

/// Chosen on five years of the synthetic campus, where a smaller ratio saves energy and costs
/// overhead: legacy computers draw 2.46 times as much as normal ones. The limit only keeps a task
/// from waiting forever.
const WAIT_RULE: WaitRule = WaitRule {
    ratio: 2.8,
    max_wait: Span::from_secs(3600),
};

pub(super) const LEAST_ADDED_ENERGY_PATIENT: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-added-energy-patient",
    alias: "c7",
    summary: "as least-added-energy, but waits for a while rather than take a computer that is much worse than others",
    paper: "tollgate",
    uses_future_logins: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        let expected = ExpectedCostSelect::new(
            CostMeasure::Marginal,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        );
        Box::new(expected.with_wait_rule(WAIT_RULE))
    },
};
