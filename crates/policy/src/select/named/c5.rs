//! The least expected energy, by a record of log-ins.

use super::Named;
use crate::select::{Cost, Expected, Knowledge};

pub(super) const C5: Named = Named {
    name: "least-energy",
    alias: "c5",
    summary: "the free computer on which a task is expected to draw least energy, by a record of log-ins",
    paper: "tollgate",
    looks_ahead: true,
    build: |grounds, _| {
        let knowledge = Knowledge::Record(grounds.log);
        Box::new(Expected::new(
            Cost::Energy,
            super::LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
