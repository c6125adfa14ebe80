//! Libra: deadline-based proportional processor share.

use tollgate_model::Market;

use super::{Family, Named};
use crate::share::{Admission, Fit, Settings};

pub(super) const LIBRA: Named = Named {
    name: "libra",
    summary: "proportional shares; admits a job if its share fits, on the fullest nodes",
    paper: "Sherwani et al. 2004; Yeo & Buyya 2006, section 3.1",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: Family::Share(Settings {
        fit: Fit::Best,
        admission: Admission::Share,
        ..Settings::DEFAULT
    }),
};
