//! The least expected time, by a record of log-ins.

use super::BuiltinSelectPolicy;
use crate::select::{CostMeasure, ExpectedCostSelect, LoginKnowledge};

pub(super) const SOONEST_END: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "soonest-end",
    alias: "c4",
    summary: "the free computer on which a task is expected to end soonest, by a record of log-ins",
    paper: "tollgate",
    uses_future_logins: true,
    build: |grounds, _| {
        let knowledge = LoginKnowledge::Record(grounds.log);
        Box::new(ExpectedCostSelect::new(
            CostMeasure::Time,
            super::TASK_LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
