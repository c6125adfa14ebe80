//! A probability of ending a task that grows with its evictions.
//!
//! The paper *retries* the task with the probability 1 - exp(-k n), which would retry a task the
//! more often the more often it failed. The paper's Figure 7 shows the opposite, which is
//! implemented here.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const E1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-evictions",
    alias: "e1",
    summary: "ends an evicted task with probability 1 - exp(-K x evictions)",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Exponential(HistoryMetric::Evictions),
};
