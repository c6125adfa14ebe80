//! LibraRisk: Libra with a test of the risk of deadline delay (LibraRiskD in later work).

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::share::{FitStrategy, ShareAdmissionTest, ShareParams};

pub(super) const LIBRA_RISK: BuiltinPolicy = BuiltinPolicy {
    name: "libra-risk",
    summary: "proportional shares; admits a job on nodes where no deadline is at risk",
    paper: "Yeo & Buyya 2006, section 3.3",
    markets: &[Market::None, Market::Bid],
    settings: FamilyParams::Share(ShareParams {
        fit: FitStrategy::First,
        admission: ShareAdmissionTest::Risk,
        ..ShareParams::DEFAULT
    }),
};
