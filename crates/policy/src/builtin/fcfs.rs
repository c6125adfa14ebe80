//! First come, first served, strictly in order.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{QueueOrder, QueueParams};

pub(super) const FCFS: BuiltinPolicy = BuiltinPolicy {
    name: "fcfs",
    summary: "strictly in order of submission; never rejects",
    paper: "the baseline of every study",
    markets: &[Market::None],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Fcfs,
        ..QueueParams::DEFAULT
    }),
};
