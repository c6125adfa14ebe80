//! The least expected energy, learned on the way.

use super::Named;
use crate::select::{Cost, Expected, Knowledge};

pub(super) const C5_ONLINE: Named = Named {
    name: "c5-online",
    summary: "as c5, by the log-ins so far",
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
