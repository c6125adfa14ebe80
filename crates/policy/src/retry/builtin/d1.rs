//! Dedicated computers for tasks that exceed the rules.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::WhenFull;

pub(super) const D1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "dedicated",
    alias: "d1",
    summary: "runs a task on one of M dedicated computers, for D at most, after more than N evictions",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Dedicated(WhenFull::Wait),
};
