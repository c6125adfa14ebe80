//! FirstReward: what a job earns against what it would delay.

use tollgate_model::Market;

use super::{Family, Named};
use crate::queue::{Admission, Order, Settings};

pub(super) const FIRST_REWARD: Named = Named {
    name: "first-reward",
    summary: "highest reward first, no backfilling; admits a job if it earns enough for what it may delay",
    paper: "Irwin, Grit & Chase 2004; Yeo & Buyya 2008, section 5.2",
    markets: &[Market::Bid],
    settings: Family::Queue(Settings {
        order: Order::Reward,
        admission: Admission::Slack,
        ..Settings::DEFAULT
    }),
};
