//! A limit on the time that a task has held computers without finishing.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const A1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "held-time",
    alias: "a1",
    summary: "ends an evicted task that held computers for more than T in vain",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Accrued(EvictionFilter::All),
};
