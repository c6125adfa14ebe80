//! A probability of ending a task that grows with its wasted time; interpreted as in `e1`.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const E2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-held-time",
    alias: "e2",
    summary: "ends an evicted task with probability 1 - exp(-K x hours held in vain)",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Exponential(HistoryMetric::Accrued),
};
