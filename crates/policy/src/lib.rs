//! The decision logic, free of I/O: which jobs are admitted, when and where they run, and at what
//! price.
//!
//! | module | contents |
//! |---|---|
//! | [`policy`](Policy) | the interface of a policy |
//! | [`state`](ClusterState) | the state a policy reads: jobs, nodes and placements |
//! | [`context`](PolicyContext) | the interface a policy acts through: checked transitions that leave effects |
//! | [`queue`] | the space-shared family: an ordered queue with reservations |
//! | [`share`] | the time-shared family: shares by remaining work and time |
//! | [`deadline_tail`] | the policy that admits by the tail of predictive distributions |
//! | [`builtin`] | the policies, one file each |
//! | [`migrate`] | the policies for moving pilots between sites: a family with its own registry |
//! | [`PolicyDefinition`] | a policy of another crate |
//! | [`registry`] | the list of policies; parsing of `NAME:KEY=VALUE,..` |
//! | [`mod@retry`] | whether an evicted task is tried again, and where |
//! | [`mod@select`] | the choice of the idle computer for the next task |
//! | [`random_source`] | random numbers as an argument |
//!
//! A policy decides from a [`View`] and acts through a [`PolicyContext`]. It reads no clock, no
//! file and no random source, and it never sees a job's real run time.

mod blocked_list;
pub mod builtin;
mod context;
pub mod deadline_tail;
mod definition;
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
pub use definition::{ParameterDefinition, ParameterValues, PolicyDefinition};
pub use policy::{
    AdmissionDecision, ClonePolicy, JobInfo, NodeSharing, PassTrigger, Policy, ProbeScratch,
};
pub use random_source::RandomSource;
pub use registry::{PolicyError, PolicyRegistry, PolicySpec};
pub use retry::RetryPolicy;
pub use select::SelectPolicy;
pub use state::{Admission, ClusterState, JobPhase, JobSlot, Node, NodeTask, TOLERANCE_S, View};
pub use timers::TimerTree;
