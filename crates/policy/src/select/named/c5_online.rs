//! The least expected energy, learned on the way.

use super::Named;
use crate::select::{Cost, Expected, Knowledge};

pub(super) const C5_ONLINE: Named = Named {
    name: "least-energy-online",
    alias: "c5-online",
    summary: "as least-energy, by the log-ins so far",
    paper: "tollgate",
    looks_ahead: false,
    build: |grounds, _| {
        let knowledge = Knowledge::Learned;
        Box::new(Expected::new(
            Cost::Energy,
            super::LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
