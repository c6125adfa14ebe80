//! Pure decisions: who gets in, when, where, and at what price.
//!
//! | module | what it holds |
//! |---|---|
//! | [`policy`](Policy) | what every policy must answer |
//! | [`state`](State) | what a policy sees: jobs, nodes, who runs where |
//! | [`cx`](Cx) | how a policy acts: checked transitions that leave effects |
//! | [`queue`] | the space-shared family: an ordered queue with reservations |
//! | [`share`] | the time-shared family: shares by remaining work and time |
//! | [`tail`] | the policy that admits by the tail of predictive distributions |
//! | [`named`] | the policies, one file each |
//! | [`migrate`] | which pilot moves to which site: a family and a list of its own |
//! | [`registry`] | their list; `NAME:KEY=VALUE,..` words made into policies |
//! | [`mod@retry`] | whether an evicted task is tried again, and where |
//! | [`mod@select`] | which idle computer gets the next task |
//! | [`draw`] | random numbers as an argument |
//!
//! A policy decides from a [`View`] and acts through a [`PolicyContext`]. It reads no clock, no file and no
//! random source, and it never sees how long a job really takes.

mod blocked_list;
pub mod builtin;
mod context;
pub mod deadline_tail;
pub mod migrate;
mod node_fit;
mod parameters;
mod policy;
mod price;
pub mod queue;
pub mod random_source;
pub mod registry;
pub mod retry;
pub mod select;
pub mod share;
mod state;
mod timers;
mod waitlist;

pub use context::{
    BookingKind, Effect, InvariantViolation, JobEnding, Notice, PolicyAlarms, PolicyContext,
};
pub use policy::{AdmissionDecision, JobInfo, NodeSharing, PassTrigger, Policy, ProbeScratch};
pub use random_source::RandomSource;
pub use registry::{PolicyError, PolicySpec};
pub use retry::RetryPolicy;
pub use select::SelectPolicy;
pub use state::{Admission, ClusterState, JobPhase, JobSlot, Node, NodeTask, TOLERANCE_S, View};
pub use timers::TimerTree;
