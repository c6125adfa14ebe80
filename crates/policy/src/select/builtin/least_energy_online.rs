//! The least expected energy, learned online.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const LEAST_ENERGY_ONLINE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-energy-online",
    alias: "c5-online",
    summary: "as least-energy, by the log-ins so far",
    paper: "tollgate",
    uses_future_logins: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Energy,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
