//! The least marginal energy, learned online: a computer that was left a minute ago is awake
//! anyway, a sleeping one stays awake for a while after the task.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const LEAST_ADDED_ENERGY: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-added-energy",
    alias: "c6",
    summary: "the free computer that draws least beyond what it would have drawn, by the log-ins so far",
    paper: "tollgate",
    uses_future_logins: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Marginal,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
