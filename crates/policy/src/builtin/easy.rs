//! EASY backfilling as the textbook has it.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{QueueParams, ReservationDepth};

pub(super) const EASY: BuiltinPolicy = BuiltinPolicy {
    name: "easy",
    summary: "EASY backfilling: jobs may overtake if the head of the queue is not delayed; never rejects",
    paper: "Lifka 1995; Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: FamilyParams::Queue(QueueParams {
        depth: ReservationDepth::AtMost(1),
        ..QueueParams::DEFAULT
    }),
};
