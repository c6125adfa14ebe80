//! A limit on evictions, not counting evictions by reboots.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const N3: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-non-reboot-evictions",
    alias: "n3",
    summary: "ends a task after more than N evictions, those by reboots not counted",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Evictions(EvictionFilter::ExceptReboots),
};
