//! Earliest deadline first, non-preemptive, with generous admission.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{DropRule, QueueOrder, QueueParams};

pub(super) const EDF: BuiltinPolicy = BuiltinPolicy {
    name: "edf",
    summary: "earliest deadline first; drops a job at its start if it cannot finish in time",
    paper: "Yeo & Buyya 2006, section 4",
    markets: &[Market::None],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Edf,
        test: DropRule::Start,
        ..QueueParams::DEFAULT
    }),
};
