//! The retry policies by name. Each is one file that fills in the axes of the family.

mod a1;
mod a2;
mod a3;
mod d1;
mod d2;
mod e1;
mod e2;
mod i1;
mod n1;
mod n2;
mod n3;
mod p1;
mod p2;
mod r1;
mod x0;

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
    x0::X0,
    n1::N1,
    n2::N2,
    n3::N3,
    r1::R1,
    e1::E1,
    e2::E2,
    a1::A1,
    a2::A2,
    a3::A3,
    i1::I1,
    p1::P1,
    p2::P2,
    d1::D1,
    d2::D2,
];
