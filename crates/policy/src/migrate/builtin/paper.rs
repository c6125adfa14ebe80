//! Liability-adjusted throughput as published.

use super::{BuiltinMigrationPolicy, MigrationParams};

pub(super) const PAPER: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "paper",
    summary: "from the lowest liability-adjusted throughput to the highest",
    paper: "Walker 2009, eq. (4)",
    settings: MigrationParams::DEFAULT,
};
