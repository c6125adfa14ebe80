//! Libra: deadline-based proportional processor share.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::share::{FitStrategy, ShareAdmissionTest, ShareParams};

pub(super) const LIBRA: BuiltinPolicy = BuiltinPolicy {
    name: "libra",
    summary: "proportional shares; admits a job if its share fits, on the fullest nodes",
    paper: "Sherwani et al. 2004; Yeo & Buyya 2006, section 3.1",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: FamilyParams::Share(ShareParams {
        fit: FitStrategy::Best,
        admission: ShareAdmissionTest::Share,
        ..ShareParams::DEFAULT
    }),
};
