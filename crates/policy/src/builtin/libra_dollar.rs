//! Libra+$: Libra at prices that rise with utilisation.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::share::{PricingRule, ShareParams};

pub(super) const LIBRA_DOLLAR: BuiltinPolicy = BuiltinPolicy {
    name: "libra-dollar",
    summary: "Libra at prices that rise with a node's utilisation; admits what can pay",
    paper: "Yeo & Buyya 2007; 2008, section 5.2",
    markets: &[Market::Commodity],
    settings: FamilyParams::Share(ShareParams {
        pricing: PricingRule::Utilisation,
        ..ShareParams::DEFAULT
    }),
};
