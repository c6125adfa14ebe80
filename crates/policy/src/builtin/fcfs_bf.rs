//! EASY backfilling in order of submission, with generous admission.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{DropRule, QueueOrder, QueueParams, ReservationDepth};

pub(super) const FCFS_BF: BuiltinPolicy = BuiltinPolicy {
    name: "fcfs-bf",
    summary: "EASY backfilling in order of submission; drops a job that cannot finish in time",
    paper: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Fcfs,
        depth: ReservationDepth::AtMost(1),
        // A job that skips ahead must have ended by the shadow time: the paper's statements about
        // waiting depend on it.
        extra: false,
        test: DropRule::Start,
        ..QueueParams::DEFAULT
    }),
};
