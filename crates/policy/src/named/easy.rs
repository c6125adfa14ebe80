//! EASY backfilling as the textbook has it.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Depth, Settings};

pub(super) const EASY: Named = Named {
    name: "easy",
    summary: "EASY backfilling: jobs may overtake if the head of the queue is not delayed; never rejects",
    paper: "Lifka 1995; Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: Family::Queue(Settings {
        depth: Depth::AtMost(1),
        ..Settings::DEFAULT
    }),
};
