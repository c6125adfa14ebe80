//! The least expected time, by a record of log-ins.

use super::Named;
use crate::select::{Cost, Expected, Knowledge};

pub(super) const C4: Named = Named {
    name: "soonest-end",
    alias: "c4",
    summary: "the free computer on which a task is expected to end soonest, by a record of log-ins",
    paper: "tollgate",
    looks_ahead: true,
    build: |grounds, _| {
        let knowledge = Knowledge::Record(grounds.log);
        Box::new(Expected::new(
            Cost::Time,
            super::LENGTH,
            knowledge,
            grounds.pool,
        ))
    },
};
