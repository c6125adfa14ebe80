//! Conservative backfilling.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Depth, Settings};

pub(super) const CONSERVATIVE: Named = Named {
    name: "conservative",
    summary: "backfilling with a reservation for every waiting job; never rejects",
    paper: "Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: Family::Queue(Settings {
        depth: Depth::All,
        ..Settings::DEFAULT
    }),
};
