//! Select policies: the choice of the idle computer for the next task.
//!
//! | module | contents |
//! |---|---|
//! | [`pool`](ComputerPool) | the computers as a batch system sees them: which are free, and since when |
//! | `recency_lists` | the free computers of each group in order of their release |
//! | [`learned_logins`](LearnedLogins) | rates of the log-ins so far |
//! | [`login_log`](LoginLog) | statistics of a year of log-ins, for policies that look ahead |
//! | [`random`](RandomSelect), [`ordered`](FixedOrderSelect), [`expected`](ExpectedCostSelect) | the three families |
//! | [`builtin`] | the policies by name: one table |
//!
//! A policy sees computers, the log-ins and log-outs of users, and the clock. It never sees tasks:
//! no task is preferred to another, and no policy knows which tasks are bad.

pub mod builtin;
mod expected;
mod learned_logins;
mod login_log;
mod ordered;
mod pool;
mod random;
mod recency_lists;

pub use builtin::{BuiltinSelectPolicy, REGISTRY, SelectBuildInputs, UnknownSelectPolicy};
pub use expected::{CostMeasure, ExpectedCostSelect, LoginKnowledge, NightlyReboots, WaitRule};
pub use learned_logins::LearnedLogins;
pub use login_log::{HOURS_OF_WEEK, LoginLog, hour_of_week};
pub use ordered::FixedOrderSelect;
pub use pool::{CampusComputer, ComputerGroup, ComputerPool};
pub use random::RandomSelect;

use tollgate_model::{Instant, NodeId};
use tollgate_policy::RandomSource;

/// The occupant of a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A user logs in.
    User,
    /// A task is started.
    Task,
}

/// A policy that chooses computers. Its own index follows the pool by [`SelectPolicy::taken`] and
/// [`SelectPolicy::freed`], which are called after each change.
pub trait SelectPolicy: Send {
    /// Returns a free computer for a task; None if no computer is free or none is worth taking now.
    /// The policy is asked again at every event.
    fn choose(
        &mut self,
        pool: &ComputerPool,
        now: Instant,
        draw: &mut dyn RandomSource,
    ) -> Option<NodeId>;

    /// Records that a free computer was taken.
    fn taken(&mut self, _: NodeId, _: Occupant, _: Instant) {}

    /// Records that a taken computer became free.
    fn freed(&mut self, _: NodeId, _: Occupant, _: Instant) {}
}
