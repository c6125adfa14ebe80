//! First come, first served, strictly in order.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Order, Settings};

pub(super) const FCFS: Named = Named {
    name: "fcfs",
    summary: "strictly in order of submission; never rejects",
    paper: "the baseline of every study",
    markets: &[Market::None],
    settings: Family::Queue(Settings {
        order: Order::Fcfs,
        ..Settings::DEFAULT
    }),
};
