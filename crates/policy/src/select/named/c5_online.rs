//! The least expected energy, learned on the way.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const C5_ONLINE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-energy-online",
    alias: "c5-online",
    summary: "as least-energy, by the log-ins so far",
    paper: "tollgate",
    looks_ahead: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Energy,
            super::LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
