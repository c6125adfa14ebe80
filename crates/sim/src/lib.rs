//! Simulated worlds that drive the decision code.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cluster`] | the cluster world: jobs arrive, a gate decides, the truth about run times unfolds |
//! | [`campus`] | the campus world: tasks on desktops that belong to somebody |
//! | [`federation`] | the federation world: proxies at several sites, dispatched and moved |
//! | [`check`] | an independent verifier of finished schedules |
//! | [`estimates`] | what policies are told about run times |
//! | [`mod@rebid`] | what the same schedule earns when users bid otherwise |
//!
//! A world knows how long jobs really take; the gate and its policy do not.

pub mod campus;
pub mod cluster;
pub mod estimates;
pub mod federation;
pub mod rebid;
pub mod verify;

pub use cluster::{
    JobPlacements, MAX_NODES, MAX_RECORD_NODES, RecordLevel, ReplayConfig, ReplayResult, replay,
    replay_with,
};
pub use estimates::{EstimateOrigin, EstimateOriginError, JobContext};
pub use rebid::{is_blind_to_bids, rebid};
pub use tollgate_forecast::{ClassId, JobAttributes};
pub use tollgate_policy::{PolicyError, PolicySpec};
pub use tollgate_workload::JobArrival;
