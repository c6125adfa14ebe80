//! The space-shared form of `tail-risk`.

use tollgate_model::Market;
use tollgate_model::distribution::LEVELS;

use super::{Family, Named};
use crate::queue::{Depth, Order, Plan, Settings, Test};

/// The least probability of meeting its deadline at which a job is still started. Chosen on KTH
/// SP2, LANL CM-5 and SDSC Blue Horizon.
const LEAST: usize = 1;

pub(super) const TAIL_RISK_BF: Named = Named {
    name: "tail-risk-bf",
    summary: "EASY backfilling by deadline; drops a job only once it is too unlikely to finish in time",
    paper: "ours; after Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Bid],
    settings: Family::Queue(Settings {
        order: Order::Edf,
        depth: Depth::AtMost(1),
        extra: true,
        test: Test::Start,
        plan: Plan::Quantile(LEVELS[LEAST]),
        ..Settings::DEFAULT
    }),
};
