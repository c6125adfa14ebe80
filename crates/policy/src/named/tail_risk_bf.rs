//! The space-shared form of `tail-risk`.

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Market, Probability};

use super::{Family, Named};
use crate::queue::{Depth, Feasibility, Order, Settings, Test};

/// The least probability of meeting its deadline at which a job is still started. Chosen on KTH
/// SP2, LANL CM-5 and SDSC Blue Horizon.
const LEAST: Probability = LEVELS[0];

pub(super) const TAIL_RISK_BF: Named = Named {
    name: "tail-risk-bf",
    summary: "EASY backfilling by deadline; drops a job only once it is too unlikely to finish in time",
    paper: "ours; after Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Bid],
    settings: Family::Queue(Settings {
        order: Order::Edf,
        depth: Depth::AtMost(1),
        extra: false,
        test: Test::Start,
        feasibility: Feasibility::Chance(LEAST),
        ..Settings::DEFAULT
    }),
};
