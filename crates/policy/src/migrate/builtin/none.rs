//! No migration: every proxy stays at its site.

use super::{BuiltinMigrationPolicy, MigrationParams};
use crate::migrate::SiteValuation;

pub(super) const NONE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "none",
    summary: "moves nothing",
    paper: "Walker 2009, Figure 7",
    settings: MigrationParams {
        value: SiteValuation::Nothing,
        ..MigrationParams::DEFAULT
    },
};
