//! Liability-adjusted throughput as published.

use super::{Named, Settings};

pub(super) const PAPER: Named = Named {
    name: "paper",
    summary: "from the lowest liability-adjusted throughput to the highest",
    paper: "Walker 2009, eq. (4)",
    settings: Settings::DEFAULT,
};
