//! The longer a task has held computers in vain, the likelier it is ended; read as `e1` is.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::rule::HistoryMetric;

pub(super) const E2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-held-time",
    alias: "e2",
    summary: "ends an evicted task with probability 1 - exp(-K x hours held in vain)",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Exponential(HistoryMetric::Accrued),
};
