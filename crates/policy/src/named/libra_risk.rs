//! LibraRisk: Libra that looks at the risk of deadline delay (LibraRiskD in later work).

use tollgate_model::Market;

use super::{Family, Named};
use crate::share::{Admission, Fit, Settings};

pub(super) const LIBRA_RISK: Named = Named {
    name: "libra-risk",
    summary: "proportional shares; admits a job on nodes where no deadline is at risk",
    paper: "Yeo & Buyya 2006, section 3.3",
    markets: &[Market::None, Market::Bid],
    settings: Family::Share(Settings {
        fit: Fit::First,
        admission: Admission::Risk,
        ..Settings::DEFAULT
    }),
};
