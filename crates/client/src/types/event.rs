//! Events of jobs, their classes, workers and nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::JobEndState;

use super::nodes::WorkerLinkState;
use super::word::WireWord;

/// An event of a job, or of some of its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// Number of the job.
    pub job: u64,
    /// Numbers of the tasks, as in `1-5,9`, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<String>,
    /// Kind of the event.
    pub event: WireWord<JobEventKind>,
    /// Instant of the event.
    pub at: String,
}

/// An event of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerEvent {
    /// Name of the worker; several workers may have the same name.
    pub worker: String,
    /// State of its connection from now on.
    pub state: WireWord<WorkerLinkState>,
    /// Number of its incarnation: one more each time that it registers after it was lost.
    pub incarnation: u32,
    /// Number of its first node.
    pub first_node: u32,
    /// Number of its nodes.
    pub nodes: u32,
    /// Instant of the event.
    pub at: String,
}

/// An event of nodes that belong to a worker, or to the service's host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeEvent {
    /// Number of the first node.
    pub first_node: u32,
    /// Number of the nodes.
    pub nodes: u32,
    /// State of the nodes from now on.
    pub state: WireWord<NodeEventState>,
    /// Name of the worker; none for the service's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How many times as long work takes on their host because of load that is not of jobs; none if that slows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Instant of the event.
    pub at: String,
}

/// The state of nodes from an event on.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NodeEventState {
    /// Takes jobs.
    Up,
    /// Starts no other job; jobs that run there go on.
    Drained,
    /// Is in use by others: jobs there are suspended, and none starts.
    InUse,
    /// Is not there.
    Down,
}

/// An event of a class of jobs: it does not run as expected any more, or does again. A class is the jobs of a user that run
/// one program and ask for the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCourseEvent {
    /// Number of the job whose end shows it.
    pub job: u64,
    /// How the last jobs of the class ran.
    pub runs: WireWord<ClassCourse>,
    /// Run time of the job, in seconds.
    pub run_time_s: f64,
    /// Run time that nineteen in twenty such jobs were expected to exceed, in seconds.
    pub expected_from_s: f64,
    /// Run time below which nineteen in twenty such jobs were expected to end, in seconds.
    pub expected_to_s: f64,
    /// Instant of the event.
    pub at: String,
}

/// How the last jobs of a class ran, beside what was expected of them.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ClassCourse {
    /// Two batches in a row took longer.
    Longer,
    /// Two batches in a row took less time.
    Shorter,
    /// Four batches in a row ran as expected, after a change.
    AsExpected,
}

/// The kind of an event of a job.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobEventKind {
    /// Admitted.
    Accepted,
    /// Queued without a promise.
    Queued,
    /// Waits for a promise, which may become possible when others end early.
    Waitlisted,
    /// Runs without a promise, as its user asked for.
    Unpromised,
    /// Decided later.
    Deferred,
    /// Not admitted.
    Rejected,
    /// A quote was reserved.
    Reserved,
    /// A reserved quote was claimed.
    Claimed,
    /// A reserved quote has expired.
    Expired,
    /// Held.
    Held,
    /// Changed by its user.
    Altered,
    /// Let beyond the share of its user.
    Granted,
    /// Started.
    Started,
    /// Its promise is at risk.
    AtRisk,
    /// Its promise was broken.
    Broken,
    /// Its program ended by itself, or the site ended it.
    Finished,
    /// Reached its time limit.
    TimedOut,
    /// The kernel killed a process of it for memory.
    OutOfMemory,
    /// Its output became longer than its limit.
    OutputLimit,
    /// Cancelled.
    Cancelled,
    /// Its end was not observed.
    Lost,
    /// It was evicted from its computer, and is tried again if a rule permits it.
    Evicted,
    /// It was evicted more often than a rule permits.
    Abandoned,
}

impl JobEventKind {
    /// Returns whether no other event of the job follows, if the event is about the whole job.
    pub const fn is_end(self) -> bool {
        match self {
            Self::Rejected
            | Self::Expired
            | Self::Finished
            | Self::TimedOut
            | Self::OutOfMemory
            | Self::OutputLimit
            | Self::Cancelled
            | Self::Lost
            | Self::Abandoned => true,
            Self::Accepted
            | Self::Queued
            | Self::Waitlisted
            | Self::Unpromised
            | Self::Deferred
            | Self::Reserved
            | Self::Claimed
            | Self::Held
            | Self::Altered
            | Self::Granted
            | Self::Started
            | Self::AtRisk
            | Self::Evicted
            | Self::Broken => false,
        }
    }
}

impl From<JobEndState> for JobEventKind {
    fn from(end: JobEndState) -> Self {
        match end {
            JobEndState::Finished => Self::Finished,
            JobEndState::TimedOut => Self::TimedOut,
            JobEndState::OutOfMemory => Self::OutOfMemory,
            JobEndState::OutputLimit => Self::OutputLimit,
            JobEndState::Cancelled => Self::Cancelled,
            JobEndState::Lost => Self::Lost,
            JobEndState::Abandoned => Self::Abandoned,
        }
    }
}
