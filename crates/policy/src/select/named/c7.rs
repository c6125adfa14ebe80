//! As `c6`, but it lets tasks wait for a while rather than take a computer that is much worse than
//! others: most tasks are short, and a better one is soon free.

use tollgate_model::Span;

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge, WaitRule};

/// Chosen on five years of the synthetic campus, where a smaller ratio saves energy and costs
/// overhead: legacy computers draw 2.46 times what normal ones do. The limit only keeps a task from
/// waiting for ever.
const PATIENCE: WaitRule = WaitRule {
    ratio: 2.8,
    longest: Span::from_secs(3600),
};

pub(super) const C7: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-added-energy-patient",
    alias: "c7",
    summary: "as least-added-energy, but waits for a while rather than take a computer that is much worse than others",
    paper: "tollgate",
    looks_ahead: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        let expected = ExpectedCostSelect::new(
            CostMeasure::Marginal,
            super::LENGTH,
            knowledge,
            grounds.pool,
        );
        Box::new(expected.patient(PATIENCE))
    },
};
