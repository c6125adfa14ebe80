//! The retry policies by name: each row fills in the axes of the family.

use super::WhenFull;
use super::rule::{EvictionFilter, HistoryMetric};

/// A policy with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltinRetryPolicy {
    /// Name of the policy.
    pub name: &'static str,
    /// Short name; a published policy keeps the paper's name.
    pub alias: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from.
    pub paper: &'static str,
    /// The kind of rule.
    pub kind: RetryRuleKind,
}

/// A named rule without its user-supplied numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRuleKind {
    /// No limit.
    Forever,
    /// A limit on evictions.
    Evictions(EvictionFilter),
    /// A limit on the wasted time.
    Accrued(EvictionFilter),
    /// A limit on the time of a single attempt, which is cut short at the limit.
    Attempt,
    /// A fixed probability.
    Chance,
    /// A probability that grows.
    Exponential(HistoryMetric),
    /// A comparison with the tasks that finished.
    Percentile(HistoryMetric),
    /// Dedicated computers for tasks that exceed the other rules.
    Dedicated(WhenFull),
}

/// Every policy, in the order in which they are listed.
pub const REGISTRY: &[BuiltinRetryPolicy] = &[
    FOREVER,
    MAX_EVICTIONS,
    MAX_NON_USER_EVICTIONS,
    MAX_NON_REBOOT_EVICTIONS,
    RANDOM,
    EXP_EVICTIONS,
    EXP_HELD_TIME,
    HELD_TIME,
    NON_USER_HELD_TIME,
    NON_REBOOT_HELD_TIME,
    ATTEMPT_TIME,
    EVICTIONS_PERCENTILE,
    HELD_TIME_PERCENTILE,
    DEDICATED,
    DEDICATED_IF_FREE,
];

/// Where the published policies come from.
const MCGOUGH: &str = "McGough et al. 2013, section III";

/// Retries tasks forever.
const FOREVER: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "forever",
    alias: "x0",
    summary: "retries for ever: only its user ends a task",
    paper: MCGOUGH,
    kind: RetryRuleKind::Forever,
};

/// A limit on evictions, whatever their cause.
const MAX_EVICTIONS: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-evictions",
    alias: "n1",
    summary: "ends a task after more than N evictions",
    paper: MCGOUGH,
    kind: RetryRuleKind::Evictions(EvictionFilter::All),
};

/// A limit on evictions, not counting evictions by users: a user's log-in says nothing about the
/// task.
const MAX_NON_USER_EVICTIONS: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-non-user-evictions",
    alias: "n2",
    summary: "ends a task after more than N evictions, those by users not counted",
    paper: MCGOUGH,
    kind: RetryRuleKind::Evictions(EvictionFilter::ExceptUsers),
};

/// A limit on evictions, not counting evictions by reboots.
const MAX_NON_REBOOT_EVICTIONS: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "max-non-reboot-evictions",
    alias: "n3",
    summary: "ends a task after more than N evictions, those by reboots not counted",
    paper: MCGOUGH,
    kind: RetryRuleKind::Evictions(EvictionFilter::ExceptReboots),
};

/// Ends a task at each eviction with a fixed probability, for comparison.
const RANDOM: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "random",
    alias: "r1",
    summary: "ends an evicted task with probability P",
    paper: MCGOUGH,
    kind: RetryRuleKind::Chance,
};

/// A probability of ending a task that grows with its evictions.
///
/// The paper *retries* the task with the probability 1 - exp(-k n), which would retry a task the
/// more often the more often it failed. The paper's Figure 7 shows the opposite, which is
/// implemented here.
const EXP_EVICTIONS: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-evictions",
    alias: "e1",
    summary: "ends an evicted task with probability 1 - exp(-K x evictions)",
    paper: MCGOUGH,
    kind: RetryRuleKind::Exponential(HistoryMetric::Evictions),
};

/// A probability of ending a task that grows with its wasted time; interpreted as in [`EXP_EVICTIONS`].
const EXP_HELD_TIME: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "exp-held-time",
    alias: "e2",
    summary: "ends an evicted task with probability 1 - exp(-K x hours held in vain)",
    paper: MCGOUGH,
    kind: RetryRuleKind::Exponential(HistoryMetric::Accrued),
};

/// A limit on the time that a task has held computers without finishing.
const HELD_TIME: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "held-time",
    alias: "a1",
    summary: "ends an evicted task that held computers for more than T in vain",
    paper: MCGOUGH,
    kind: RetryRuleKind::Accrued(EvictionFilter::All),
};

/// A limit on the wasted time, not counting attempts that a user ended.
const NON_USER_HELD_TIME: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "non-user-held-time",
    alias: "a2",
    summary: "ends an evicted task that held computers for more than T, attempts ended by users not counted",
    paper: MCGOUGH,
    kind: RetryRuleKind::Accrued(EvictionFilter::ExceptUsers),
};

/// A limit on the wasted time, not counting attempts that a reboot ended.
const NON_REBOOT_HELD_TIME: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "non-reboot-held-time",
    alias: "a3",
    summary: "ends an evicted task that held computers for more than T, attempts ended by reboots not counted",
    paper: MCGOUGH,
    kind: RetryRuleKind::Accrued(EvictionFilter::ExceptReboots),
};

/// A limit on the time of a single attempt.
const ATTEMPT_TIME: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "attempt-time",
    alias: "i1",
    summary: "ends a task as soon as one attempt takes longer than T",
    paper: MCGOUGH,
    kind: RetryRuleKind::Attempt,
};

/// Ends a task that was evicted more often than most finished tasks.
const EVICTIONS_PERCENTILE: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "evictions-percentile",
    alias: "p1",
    summary: "ends a task evicted more often than P percent of those that finished",
    paper: MCGOUGH,
    kind: RetryRuleKind::Percentile(HistoryMetric::Evictions),
};

/// Ends a task that has held computers for longer than most finished tasks, their last attempt
/// included.
const HELD_TIME_PERCENTILE: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "held-time-percentile",
    alias: "p2",
    summary: "ends an evicted task that held computers for longer than P percent of those that finished",
    paper: MCGOUGH,
    kind: RetryRuleKind::Percentile(HistoryMetric::Accrued),
};

/// Dedicated computers for tasks that exceed the rules.
const DEDICATED: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "dedicated",
    alias: "d1",
    summary: "runs a task on one of M dedicated computers, for D at most, after more than N evictions",
    paper: MCGOUGH,
    kind: RetryRuleKind::Dedicated(WhenFull::Wait),
};

/// Dedicated computers while some are free: no task waits for them, so that a few are enough.
const DEDICATED_IF_FREE: BuiltinRetryPolicy = BuiltinRetryPolicy {
    name: "dedicated-if-free",
    alias: "d2",
    summary: "as dedicated, but retries a task elsewhere while all dedicated computers are taken",
    paper: "tollgate",
    kind: RetryRuleKind::Dedicated(WhenFull::Requeue),
};
