//! The migration policies by name. Each is one file that fills in the axes of the family.

mod cap_aware;
mod marginal;
mod none;
mod paper;
mod rate;
mod share;

use super::settings::MigrationParams;

/// A migration policy with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltinMigrationPolicy {
    /// The policy's name.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from, if any.
    pub paper: &'static str,
    /// The policy's default parameters.
    pub settings: MigrationParams,
}

/// Every migration policy, in the order in which they are listed.
pub const REGISTRY: &[BuiltinMigrationPolicy] = &[
    none::NONE,
    paper::PAPER,
    share::SHARE,
    rate::RATE,
    cap_aware::CAP_AWARE,
    marginal::MARGINAL,
];
