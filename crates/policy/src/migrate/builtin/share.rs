//! Moves proxies to where the larger share of proxies runs.

use super::{BuiltinMigrationPolicy, MigrationParams};
use crate::migrate::{DonorRule, SiteValuation};

pub(super) const SHARE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "share",
    summary: "to where the larger share of proxies runs, times the speed of the site",
    paper: "",
    settings: MigrationParams {
        value: SiteValuation::Rate,
        waits: 0.0,
        donor: DonorRule::NextLowest,
        ..MigrationParams::DEFAULT
    },
};
