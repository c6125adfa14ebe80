//! EASY backfilling, earliest deadline first, with generous admission.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Depth, Order, Settings, Test};

pub(super) const EDF_BF: Named = Named {
    name: "edf-bf",
    summary: "EASY backfilling, earliest deadline first; drops a job that cannot finish in time",
    paper: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: Family::Queue(Settings {
        order: Order::Edf,
        depth: Depth::AtMost(1),
        // A job that skips ahead must have ended by the shadow time: the paper's statements about
        // waiting hold only so.
        extra: false,
        test: Test::Start,
        ..Settings::DEFAULT
    }),
};
