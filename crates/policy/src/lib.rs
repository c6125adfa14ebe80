//! The contract of a policy, free of I/O: what a policy sees and may do, and the tools that policies
//! share.
//!
//! | module | contents |
//! |---|---|
//! | [`policy`](Policy) | the interface of a policy |
//! | [`possible_runs`](PossibleRuns) | the runs of some jobs in several futures, and the probability of a deadline |
//! | [`state`](ClusterState) | the state a policy reads: jobs, nodes and placements |
//! | [`context`](PolicyContext) | the interface a policy acts through: checked transitions that leave effects |
//! | [`definition`](PolicyDefinition) | a policy with a name, and the settings from which it is created |
//! | [`parameters`](ParameterTable), `parameter_table` | the table of a policy's parameters, and its macro |
//! | [`registry`](PolicyRegistry) | the list of policies; parsing of `NAME:KEY=VALUE,..` |
//! | [`policy_error`](PolicyError) | errors in these words |
//! | [`toolkit`] | availability profile, head reservation, blocked list, fit, prices, waitlist |
//! | [`timers`](TimerTree) | one alarm per slot |
//! | [`random_source`](RandomSource) | random numbers as an argument |
//!
//! A policy decides from a [`View`] and acts through a [`PolicyContext`]. It reads no clock, no
//! file and no random source, and it never sees a job's real run time. The built-in policies are in
//! the crate `tollgate-policies`.

mod context;
mod definition;
mod parameter_table;
mod parameters;
mod policy;
mod policy_error;
mod possible_runs;
mod random_source;
mod registry;
mod state;
mod timers;
pub mod toolkit;

pub use context::{
    BookingKind, Effect, InvariantViolation, JobEnding, Notice, PolicyAlarms, PolicyContext,
};
pub use definition::{DynSettings, PolicyDefinition, PolicySettings};
pub use parameters::{
    ParameterEnum, ParameterInfo, ParameterPlace, ParameterTable, ParameterWord, PolicyParameter,
};
pub use policy::{
    AdmissionDecision, ArraySubject, ClonePolicy, JobInfo, NodeSharing, OutlookSubject,
    PassTrigger, Policy, PolicyFailure, ProbeScratch, WaitOrder,
};
pub use policy_error::PolicyError;
pub use possible_runs::{PossibleRuns, SingleJobRuns};
pub use random_source::RandomSource;
pub use registry::{PolicyRegistry, PolicySpec};
pub use state::{
    Admission, ClusterState, ExpectedHost, ExpectedHosts, HeldDevices, Host, HostPart, JobPhase,
    JobSlot, LoginForecast, Node, NodeTask, SharedStart, StartForecast, TOLERANCE_S, TaskCoupling,
    USE_HALF_LIFE, View, preempted_at, requested_share,
};
pub use timers::TimerTree;
