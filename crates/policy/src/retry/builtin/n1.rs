//! A limit on evictions, whatever their cause.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const N1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-evictions",
    alias: "n1",
    summary: "ends a task after more than N evictions",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Evictions(EvictionFilter::All),
};
