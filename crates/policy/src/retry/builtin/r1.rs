//! Ends a task at each eviction with a fixed probability, for comparison.

use super::{BuiltinRetryPolicy, RetryRuleKind};

pub(super) const R1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "random",
    alias: "r1",
    summary: "ends an evicted task with probability P",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Chance,
};
