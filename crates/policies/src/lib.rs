//! The built-in policies.
//!
//! | module | contents |
//! |---|---|
//! | [`builtin`](BUILTIN_POLICIES) | the policies by name: one table |
//! | [`queue`] | the space-shared family: an ordered queue with reservations |
//! | [`time_shared`] | what the time-shared families have in common: one pass over an admission test of nodes |
//! | [`share`] | the time-shared family by remaining work and time |
//! | [`deadline_tail`] | the time-shared family that admits by the tail of predictive distributions |
//! | [`plan`] | the policy that promises at submission, from a plan of all promises |
//! | [`cluster_choice`] | the choice among clusters that quote the same job |
//!
//! The contract of a policy and the tools that policies are built from are in the crate
//! `tollgate-policy`.

mod builtin;
pub mod cluster_choice;
pub mod deadline_tail;
pub mod plan;
pub mod queue;
pub mod share;
pub mod time_shared;

pub use builtin::{BUILTIN_POLICIES, builtin_registry};
