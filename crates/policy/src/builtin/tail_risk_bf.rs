//! The space-shared form of `tail-risk`.

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Market, Probability};

use super::{BuiltinPolicy, FamilyParams};
use crate::queue::{DropRule, FeasibilityRule, QueueOrder, QueueParams, ReservationDepth};

/// Minimum probability of meeting its deadline for a job to be started. Chosen on KTH SP2, LANL
/// CM-5 and SDSC Blue Horizon.
const MIN_PROBABILITY: Probability = LEVELS[0];

pub(super) const TAIL_RISK_BF: BuiltinPolicy = BuiltinPolicy {
    name: "tail-risk-bf",
    summary: "EASY backfilling by deadline; drops a job only once it is too unlikely to finish in time",
    paper: "ours; after Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Bid],
    settings: FamilyParams::Queue(QueueParams {
        order: QueueOrder::Edf,
        depth: ReservationDepth::AtMost(1),
        extra: false,
        test: DropRule::Start,
        feasibility: FeasibilityRule::Chance(MIN_PROBABILITY),
        ..QueueParams::DEFAULT
    }),
};
