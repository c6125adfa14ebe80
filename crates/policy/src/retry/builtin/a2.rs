//! A limit on the wasted time, not counting attempts that a user ended.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const A2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "non-user-held-time",
    alias: "a2",
    summary: "ends an evicted task that held computers for more than T, attempts ended by users not counted",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Accrued(EvictionFilter::ExceptUsers),
};
