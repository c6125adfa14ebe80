//! The vocabulary of tollgate: the words that every other crate speaks.
//!
//! | module | words |
//! |---|---|
//! | [`time`] | [`Instant`], [`Span`]: integer microseconds |
//! | [`memory`] | [`Bytes`]: whole bytes |
//! | [`money`] | [`Credits`], [`CreditsPerSecond`]: fixed-point |
//! | [`job`] | [`JobId`], [`JobSpec`], [`Sla`]: what a user hands in |
//! | [`node`] | [`NodeId`], [`NodeRange`]: where jobs run |
//! | [`decision`] | [`Decision`], [`Reason`]: what was said to a job, and why |
//! | [`distribution`] | [`Distribution`], [`Probability`]: how long a job may take |
//! | [`market`] | [`Market`]: who pays what, and when |
//! | [`outcome`] | [`Outcome`]: what became of a job |
//! | [`power`] | [`Watts`], [`Energy`], [`Power`]: what a computer draws |
//!
//! Nothing here reads a clock, a file or a random source, and a [`JobSpec`] carries no run
//! time: how long a job really takes is known to the world that runs it, never to a policy.

pub mod decision;
pub mod distribution;
pub mod job;
pub mod market;
pub mod memory;
pub mod money;
pub mod node;
pub mod outcome;
pub mod power;
pub mod time;

pub use decision::{Decision, Reason};
pub use distribution::{Distribution, Probability};
pub use job::{JobId, JobSpec, Sla};
pub use market::Market;
pub use memory::Bytes;
pub use money::{Credits, CreditsPerSecond};
pub use node::{NodeId, NodeRange};
pub use outcome::Outcome;
pub use power::{Energy, Power, Watts};
pub use time::{Instant, Span};
