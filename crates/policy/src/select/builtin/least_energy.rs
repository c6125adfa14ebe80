//! The least expected energy, by a record of log-ins.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const LEAST_ENERGY: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-energy",
    alias: "c5",
    summary: "the free computer on which a task is expected to draw least energy, by a record of log-ins",
    paper: "tollgate",
    uses_future_logins: true,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Record(grounds.log);
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Energy,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
