//! Ends a task that has held computers for longer than most finished tasks, their last attempt
//! included.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const P2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "held-time-percentile",
    alias: "p2",
    summary: "ends an evicted task that held computers for longer than P percent of those that finished",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Percentile(HistoryMetric::Accrued),
};
