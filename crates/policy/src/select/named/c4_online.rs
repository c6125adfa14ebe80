//! The least expected time, learned on the way.

use super::Named;
use crate::select::{Cost, Expected, Knowledge};

pub(super) const C4_ONLINE: Named = Named {
    name: "soonest-end-online",
    alias: "c4-online",
    summary: "as soonest-end, by the log-ins so far",
    paper: "tollgate",
    looks_ahead: false,
    build: |grounds, _| {
        let knowledge = Knowledge::Learned;
        Box::new(Expected::new(
            Cost::Time,
            super::LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
