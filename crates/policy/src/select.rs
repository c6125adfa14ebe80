//! Which idle computer gets the next task.
//!
//! | module | what it holds |
//! |---|---|
//! | [`pool`](Pool) | what a batch system sees of the computers: which are free, and since when |
//! | [`log`](Log) | what a year's record of log-ins says, for policies that look ahead |
//! | [`random`](Random), [`ordered`](Ordered), [`expected`](Expected) | the three families |
//! | [`named`] | the policies, one file each |
//!
//! A policy sees computers, users who come and leave, and the clock. It never sees tasks: none is
//! preferred to another, and nobody knows which of them are bad.

pub mod builtin;
mod expected;
mod login_log;
mod ordered;
mod pool;
mod random;

pub use builtin::{BuiltinSelectPolicy, REGISTRY, SelectBuildInputs, UnknownSelectPolicy};
pub use expected::{CostMeasure, ExpectedCostSelect, LoginKnowledge, WaitRule};
pub use login_log::{HOURS_OF_WEEK, LoginLog, hour_of_week};
pub use ordered::FixedOrderSelect;
pub use pool::{CampusComputer, ComputerGroup, ComputerPool};
pub use random::RandomSelect;

use tollgate_model::{Instant, NodeId};

use crate::random_source::RandomSource;

/// Who takes a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// Somebody sits down at it.
    User,
    /// A task is started on it.
    Task,
}

/// A policy that chooses computers. Its own index follows the pool by [`SelectPolicy::taken`] and
/// [`SelectPolicy::freed`], which are called after each change.
pub trait SelectPolicy: Send {
    /// A free computer for a task; none if there is none, or none that is worth it now: it is asked
    /// again whenever something happens.
    fn choose(
        &mut self,
        pool: &ComputerPool,
        now: Instant,
        draw: &mut dyn RandomSource,
    ) -> Option<NodeId>;

    /// Somebody took a computer that was free.
    fn taken(&mut self, _: NodeId, _: Occupant, _: Instant) {}

    /// Whoever had a computer left it.
    fn freed(&mut self, _: NodeId, _: Occupant, _: Instant) {}
}
