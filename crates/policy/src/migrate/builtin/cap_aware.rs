//! A variant of `rate` that sends nothing to a site whose limit is used up.

use super::{BuiltinMigrationPolicy, MigrationParams};
use crate::migrate::{DonorRule, RunLimitRule, SiteValuation};

pub(super) const CAP_AWARE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "cap-aware",
    summary: "as rate, away from sites whose limit on running proxies is used up",
    paper: "",
    settings: MigrationParams {
        value: SiteValuation::Rate,
        limit_rule: RunLimitRule::Expected,
        donor: DonorRule::NextLowest,
        stop: 1.3,
        ..MigrationParams::DEFAULT
    },
};
