//! Moves proxies to where a proxy does most per tick, by measured waits.

use super::{BuiltinMigrationPolicy, MigrationParams};
use crate::migrate::{DonorRule, SiteValuation};

pub(super) const RATE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "rate",
    summary: "to where a proxy does most a tick, by the waits that were seen",
    paper: "",
    settings: MigrationParams {
        value: SiteValuation::Rate,
        donor: DonorRule::NextLowest,
        stop: 1.1,
        guard: true,
        ..MigrationParams::DEFAULT
    },
};
