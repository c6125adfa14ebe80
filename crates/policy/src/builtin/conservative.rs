//! Conservative backfilling.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{QueueParams, ReservationDepth};

pub(super) const CONSERVATIVE: BuiltinPolicy = BuiltinPolicy {
    name: "conservative",
    summary: "backfilling with a reservation for every waiting job; never rejects",
    paper: "Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: FamilyParams::Queue(QueueParams {
        depth: ReservationDepth::All,
        ..QueueParams::DEFAULT
    }),
};
