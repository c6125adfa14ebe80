//! Dedicated computers as far as there are free ones: nobody waits for them, so that a few are enough.

use super::{BuiltinRetryPolicy, RetryRuleKind};
use crate::retry::WhenFull;

pub(super) const D2: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "dedicated-if-free",
    alias: "d2",
    summary: "as dedicated, but retries a task elsewhere while all dedicated computers are taken",
    paper: "tollgate",
    kind: RetryRuleKind::Dedicated(WhenFull::Requeue),
};
