//! Libra+$: Libra at prices that rise with utilisation.

use tollgate_model::Market;

use super::{Family, Named};
use crate::share::{Pricing, Settings};

pub(super) const LIBRA_DOLLAR: Named = Named {
    name: "libra-dollar",
    summary: "Libra at prices that rise with a node's utilisation; admits what can pay",
    paper: "Yeo & Buyya 2007; 2008, section 5.2",
    markets: &[Market::Commodity],
    settings: Family::Share(Settings {
        pricing: Pricing::Utilisation,
        ..Settings::DEFAULT
    }),
};
