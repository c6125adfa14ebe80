//! Dedicated computers while some are free: no task waits for them, so that a few are enough.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::WhenFull;

pub(super) const D2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "dedicated-if-free",
    alias: "d2",
    summary: "as dedicated, but retries a task elsewhere while all dedicated computers are taken",
    paper: "tollgate",
    kind: RetryRuleKind::Dedicated(WhenFull::Requeue),
};
