//! Simulated worlds that drive the decision code.
//!
//! | module | contents |
//! |---|---|
//! | [`cluster`] | the cluster world: arrivals, true run times and outcomes of a [`tollgate_gate::Simulation`] |
//! | [`clusters`] | several clusters with gates of their own, and jobs that go to one of them |
//! | [`campus`] | the campus world: tasks on desktops that users also log in to |
//! | [`grid`] | the grid world: users' jobs, whose run times are forecast |
//! | [`federation`] | the federation world: proxies at several sites, dispatched and moved |
//! | [`sites`] | the world of sites: pilots in the queues of batch systems, and tasks with deadlines on them |
//! | [`verify`] | an independent verifier of finished schedules |
//! | `estimate_origin` | the source of the estimates that policies receive |
//! | [`estimates`] | the run time estimates and beliefs that policies receive |
//! | [`learning`] | what was learned from records before a run |
//! | [`mod@rebid`] | the earnings of the same schedule under other bids |
//!
//! A world knows how long jobs really take; the gate and its policy do not.

pub mod campus;
pub mod cluster;
pub mod clusters;
mod estimate_origin;
pub mod estimates;
pub mod federation;
pub mod grid;
pub mod learning;
pub mod rebid;
pub mod sites;
pub mod verify;

pub use cluster::{
    JobPlacements, MAX_NODES, MAX_PREEMPTION_COST, MAX_RECORD_NODES, OverrunRule, PromiseStatement,
    RecordLevel, ReplayConfig, ReplayFailure, ReplayResult, StopSignal, replay, replay_outcomes,
    replay_with,
};
pub use estimate_origin::{EstimateOrigin, EstimateOriginError};
pub use estimates::{EstimateSetup, JobContext};
pub use rebid::{is_blind_to_bids, rebid};
pub use tollgate_forecast::{
    ClassId, CompletedJob, ForecastJob, JobAttributes, LearnedHistory, UnpredictableAction,
    UnpredictableActionError, UnpredictableRule,
};
pub use tollgate_policy::{PolicyError, PolicyRegistry, PolicySpec, TaskCoupling};
pub use tollgate_workload::JobArrival;
