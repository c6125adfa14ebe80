//! The policies by name. Each is one file that says where it stands on the axes of the family.

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
    /// Short name: where the policy was published in a paper, the paper's own.
    pub alias: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it is.
    pub kind: RetryRuleKind,
}

/// What a named policy is, but for the numbers that users give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRuleKind {
    /// It never has enough.
    Forever,
    /// A limit on evictions.
    Evictions(EvictionFilter),
    /// A limit on the time held in vain.
    Accrued(EvictionFilter),
    /// A limit on the time of a single attempt, which is cut short there.
    Attempt,
    /// A fixed probability.
    Chance,
    /// A probability that grows.
    Exponential(HistoryMetric),
    /// A comparison with the tasks that finished.
    Percentile(HistoryMetric),
    /// Dedicated computers for those of which the other rules have had enough.
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
