//! Earliest deadline first, non-preemptive, with generous admission.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Order, Settings, Test};

pub(super) const EDF: Named = Named {
    name: "edf",
    summary: "earliest deadline first; drops a job at its start if it cannot finish in time",
    paper: "Yeo & Buyya 2006, section 4",
    markets: &[Market::None],
    settings: Family::Queue(Settings {
        order: Order::Edf,
        test: Test::Start,
        ..Settings::DEFAULT
    }),
};
