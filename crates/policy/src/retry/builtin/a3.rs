//! A limit on the wasted time, not counting attempts that a reboot ended.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::EvictionFilter;

pub(super) const A3: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "non-reboot-held-time",
    alias: "a3",
    summary: "ends an evicted task that held computers for more than T, attempts ended by reboots not counted",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Accrued(EvictionFilter::ExceptReboots),
};
