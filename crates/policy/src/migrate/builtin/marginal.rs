//! Moves proxies to where one more proxy adds most; the product's default.

use super::{BuiltinMigrationPolicy, MigrationParams};
use crate::migrate::{DonorRule, RunLimitRule, SiteValuation};

pub(super) const MARGINAL: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "marginal",
    summary: "to where one more proxy does most, by what runs, by waits and by what a limit leaves",
    paper: "",
    settings: MigrationParams {
        value: SiteValuation::Rate,
        waits: 0.5,
        prior_proxies: 4.0,
        limit_rule: RunLimitRule::Chance,
        donor: DonorRule::NextLowest,
        guard: true,
        ..MigrationParams::DEFAULT
    },
};
