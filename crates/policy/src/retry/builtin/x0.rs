//! Retries tasks forever.

use super::{BuiltinRetryPolicy, RetryRuleKind};

pub(super) const X0: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "forever",
    alias: "x0",
    summary: "retries for ever: only its user ends a task",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Forever,
};
