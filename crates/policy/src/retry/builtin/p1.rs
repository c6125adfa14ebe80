//! Ends a task that was evicted more often than most finished tasks.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const P1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "evictions-percentile",
    alias: "p1",
    summary: "ends a task evicted more often than P percent of those that finished",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Percentile(HistoryMetric::Evictions),
};
