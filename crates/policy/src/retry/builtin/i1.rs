//! A limit on the time of a single attempt.

use super::{BuiltinRetryPolicy, RetryRuleKind};

pub(super) const I1: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "attempt-time",
    alias: "i1",
    summary: "ends a task as soon as one attempt takes longer than T",
    paper: "McGough et al. 2013, section III",
    kind: RetryRuleKind::Attempt,
};
