//! EASY backfilling, shortest estimate first, with generous admission.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{DropRule, QueueOrder, QueueParams, ReservationDepth};

pub(super) const SJF_BF: BuiltinPolicy = BuiltinPolicy {
    name: "sjf-bf",
    summary: "EASY backfilling, shortest estimate first; drops a job that cannot finish in time",
    paper: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Sjf,
        depth: ReservationDepth::AtMost(1),
        // A job that skips ahead must have ended by the shadow time: the paper's statements about
        // waiting depend on it.
        extra: false,
        test: DropRule::Start,
        ..QueueParams::DEFAULT
    }),
};
