//! The least expected time, learned online.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const SOONEST_END_ONLINE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "soonest-end-online",
    alias: "c4-online",
    summary: "as soonest-end, by the log-ins so far",
    paper: "tollgate",
    uses_future_logins: false,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Learned;
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Time,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
