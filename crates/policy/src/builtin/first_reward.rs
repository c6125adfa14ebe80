//! FirstReward: weighs the earnings of a job against the delays it would cause.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{QueueAdmissionTest, QueueOrder, QueueParams};

pub(super) const FIRST_REWARD: BuiltinPolicy = BuiltinPolicy {
    name: "first-reward",
    summary: "highest reward first, no backfilling; admits a job if it earns enough for what it may delay",
    paper: "Irwin, Grit & Chase 2004; Yeo & Buyya 2008, section 5.2",
    markets: &[Market::Bid],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Reward,
        admission: QueueAdmissionTest::Slack,
        ..QueueParams::DEFAULT
    }),
};
