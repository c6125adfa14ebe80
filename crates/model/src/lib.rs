//! The vocabulary of tollgate: the types that every other crate uses.
//!
//! | module | words |
//! |---|---|
//! | [`speed`] | [`NodeSpeed`], [`MachineSpeeds`], [`SpeedList`]: how fast nodes are |
//! | [`slowdown`] | [`HostSlowdown`], [`WorkProgress`]: hosts that others load, and the work done there |
//! | [`time`] | [`Instant`], [`Span`]: integer microseconds |
//! | [`memory`] | [`Bytes`]: whole bytes, and how they are typed |
//! | [`money`] | [`Credits`], [`CreditsPerSecond`]: fixed-point |
//! | [`job`] | [`JobId`], [`JobSpec`], [`Sla`]: a submitted job |
//! | [`attempt`] | [`TaskId`], [`AttemptId`], [`AttemptEvent`], [`AttemptStatus`], [`KillReason`]: tries at running a task |
//! | [`ending`] | [`AttemptEnding`], [`JobEndState`], [`ExceededLimit`]: the judgement of an end |
//! | [`eviction`] | [`EvictionCause`]: why an attempt had to leave its computer |
//! | [`normal`] | the standard normal distribution |
//! | [`node`] | [`NodeId`], [`NodeRange`]: where jobs run |
//! | `launch_failure` | [`LaunchFailure`], [`LaunchFault`]: launches that failed, and whose fault that is |
//! | [`maintenance`] | [`MaintenanceCalendar`]: times in which no job runs |
//! | [`belief`] | [`RuntimeBelief`]: the beliefs that policies ask for |
//! | [`books`] | [`Books`], [`BookEntry`]: what became of jobs and of their promises |
//! | [`decision`] | [`Decision`], [`Reason`]: the answer to a submission, with its reason |
//! | [`distribution`] | [`Distribution`], [`Probability`]: predicted run times |
//! | [`market`] | [`Market`]: the rules of payment |
//! | [`outcome`] | [`Outcome`]: the result of a job |
//! | `program` | [`program_word`]: the program that a command line runs |
//! | [`resources`] | [`ResourceCounts`], [`PlacementNeeds`], [`HostTerms`]: devices and licences |
//! | [`report_bounds`] | [`ReportBounds`]: the range in which the values of a report can be true |
//! | [`power`] | [`Watts`], [`Energy`], [`Power`]: the power draw of a computer |
//! | [`warning`] | [`LimitWarning`], [`WarningSignal`]: a signal before the time limit |
//!
//! No type here reads a clock, a file or a random source. A [`JobSpec`] carries no run time: only
//! the simulated or real machine knows the true run time of a job, never a policy.

pub mod attempt;
pub mod belief;
pub mod books;
pub mod decision;
pub mod distribution;
pub mod ending;
pub mod eviction;
pub mod job;
mod launch_failure;
pub mod maintenance;
pub mod market;
pub mod memory;
pub mod money;
pub mod node;
pub mod normal;
pub mod outcome;
pub mod power;
mod program;
pub mod report_bounds;
pub mod resources;
pub mod slowdown;
pub mod speed;
pub mod time;
pub mod warning;

pub use attempt::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus,
    FIRST_TASK_NUMBER, KillReason, TaskId,
};
pub use belief::{Kinship, RuntimeBelief};
pub use books::{BookEntry, Books, BreakCause};
pub use decision::{Decision, OtherReason, Otherwise, Reason};
pub use distribution::{Distribution, Probability};
pub use ending::{
    ABANDONED_WAIT_CODE, AttemptEnding, ExceededLimit, JobEndState, LimitOwner, LimitOwners,
};
pub use eviction::EvictionCause;
pub use job::{JobId, JobSpec, Sla, UserId};
pub use launch_failure::{LaunchFailure, LaunchFault};
pub use maintenance::{MaintenanceCalendar, MaintenanceWindow};
pub use market::{Market, PenaltyLimit};
pub use memory::{Bytes, BytesError};
pub use money::{Credits, CreditsPerSecond};
pub use node::{NodeId, NodeRange};
pub use outcome::Outcome;
pub use power::{Energy, Power, Watts};
pub use program::program_word;
pub use report_bounds::{BoundedReport, ReportBounds};
pub use resources::{
    HostNameIndex, HostTerms, MAX_DEVICES, MAX_RESOURCES, PlacementNeeds, ResourceCounts,
    ResourceIndex,
};
pub use slowdown::{ForeignLoad, HostSlowdown, WorkProgress};
pub use speed::{MachineSpeeds, NodeSpeed, SpeedCountError, SpeedList, SpeedListError};
pub use time::{Instant, Span};
pub use warning::{LimitWarning, UnknownSignal, WarningSignal};
