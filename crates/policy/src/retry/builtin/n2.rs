//! A limit on evictions, not counting evictions by users: a user's log-in says nothing about the
//! task.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const N2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-non-user-evictions",
    alias: "n2",
    summary: "ends a task after more than N evictions, those by users not counted",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Evictions(EvictionFilter::ExceptUsers),
};
