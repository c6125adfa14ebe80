//! The more often a task was evicted, the likelier it is ended.
//!
//! The paper has the task *retried* with the probability 1 - exp(-k n), which would try a task the more
//! the more often it failed; its Figure 7 shows the opposite, which is what is done here.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const E1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-evictions",
    alias: "e1",
    summary: "ends an evicted task with probability 1 - exp(-K x evictions)",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Exponential(HistoryMetric::Evictions),
};
