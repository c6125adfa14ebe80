//! The migration policies by name: each row fills in the axes of the family.

use super::settings::{DonorRule, MigrationParams, RunLimitRule, SiteValuation};

/// A migration policy with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltinMigrationPolicy {
    /// The policy's name.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from, if any.
    pub paper: &'static str,
    /// The policy's default parameters.
    pub settings: MigrationParams,
}

/// Every migration policy, in the order in which they are listed.
pub const REGISTRY: &[BuiltinMigrationPolicy] = &[NONE, PAPER, SHARE, RATE, CAP_AWARE, MARGINAL];

/// No migration: every proxy stays at its site.
const NONE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "none",
    summary: "moves nothing",
    paper: "Walker 2009, Figure 7",
    settings: MigrationParams {
        value: SiteValuation::Nothing,
        ..MigrationParams::DEFAULT
    },
};

/// Liability-adjusted throughput as published.
const PAPER: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
    name: "paper",
    summary: "from the lowest liability-adjusted throughput to the highest",
    paper: "Walker 2009, eq. (4)",
    settings: MigrationParams::DEFAULT,
};

/// Moves proxies to where the larger share of proxies runs.
const SHARE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
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

/// Moves proxies to where a proxy does most per tick, by measured waits.
const RATE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
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

/// A variant of `rate` that sends nothing to a site whose limit is used up.
const CAP_AWARE: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
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

/// Moves proxies to where one more proxy adds most; the product's default.
const MARGINAL: BuiltinMigrationPolicy = BuiltinMigrationPolicy {
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
