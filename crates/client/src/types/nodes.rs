//! Workers, their nodes and what these offer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::EvictionCause;

use super::word::WireWord;

/// Nodes to drain, or to use again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// Name of the worker; without it, the service's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Whether no other task starts there. False lets tasks start again.
    pub drained: bool,
}

/// The ends that batch systems have for workers, of which some may have another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerEnds {
    /// The ends.
    pub ends: Vec<EndOfWorker>,
}

/// The end that a batch system has for a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndOfWorker {
    /// Name of the worker.
    pub worker: String,
    /// Instant at which the batch system ends its host, by the host's clock.
    pub until: String,
}

/// The workers whose ends have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedEnds {
    /// Their names.
    pub workers: Vec<String>,
}

/// Workers that are to leave if they run nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerRelease {
    /// Their names.
    pub workers: Vec<String>,
}

/// The workers that were asked to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleasedWorkers {
    /// Their names. A worker that runs a task, or is no pilot, is not among them.
    pub workers: Vec<String>,
}

/// The pilots of a site that are expected, in place of those that were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPilots {
    /// Name of the site.
    pub site: String,
    /// Seconds after which nothing of this counts any more, if it is not sent again; above 0, at most a day.
    pub valid_for_s: f64,
    /// The pilots, at most 1,000. Without any, none is expected.
    pub pilots: Vec<ExpectedPilot>,
    /// Names of the workers of its pilots that have joined, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<String>,
    /// How often an hour the site ends a pilot before its time; 0 if it never did, at most 10,000.
    #[serde(default)]
    pub preempted_per_h: f64,
}

/// A pilot that waits in the queue of a batch system, or would be submitted if work needed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPilot {
    /// Name that its worker will have; none of a pilot that is not submitted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Number of its cores; at least 1.
    pub cores: u32,
    /// Memory of each core for tasks, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_per_core_bytes: Option<u64>,
    /// Seconds for which it takes tasks once it is there; above 0.
    pub stays_s: f64,
    /// Seconds from now within which it is there, at the levels (i + 1/2) / n for i < n; ascending, 1 to 100 of them. Beyond
    /// the last one it may never come.
    pub starts_in_s: Vec<f64>,
}

/// A host that is expected: a pilot in the queue of a batch system, or one that would be submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedHostStatus {
    /// Name of its site.
    pub site: String,
    /// Name that its worker will have; none of a pilot that is not submitted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Number of its nodes.
    pub nodes: u32,
    /// Seconds for which it stays.
    pub stays_s: f64,
    /// Instant by which it is there with probability .5; none if that may be never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_start_at: Option<String>,
    /// Instant by which it is there with probability .9; none if that may be never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_start_at: Option<String>,
}

/// The nodes and workers of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeList {
    /// The nodes: cores of the service's host and of the workers' hosts.
    pub nodes: Vec<NodeStatus>,
    /// Maximum memory of all tasks on a node of the service's host; 0 if it offers none.
    pub memory_per_node_bytes: u64,
    /// Sentences: what is enforced on the service's host, and what can escape.
    pub enforced: Vec<String>,
    /// Workers on other hosts, lost ones included.
    pub workers: Vec<WorkerStatus>,
    /// Devices of hosts, and licences of the site.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// Hosts on which load that is not of jobs slows jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowed_hosts: Vec<SlowedHost>,
    /// Hosts that are expected at sites, on which promises may count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_hosts: Vec<ExpectedHostStatus>,
}

/// A host on which load that is not of jobs slows jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowedHost {
    /// Name of the host.
    pub host: String,
    /// How many times as long work takes there. Above 1, at most 100.
    pub slowdown: f64,
    /// Instant since which jobs have been slower there.
    pub since: String,
}

/// A device of a host, or a licence of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStatus {
    /// Name, as `gpu`.
    pub name: String,
    /// Host that has the devices; none for licences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of units.
    pub total: u8,
    /// Number of units that running jobs take.
    pub taken: u8,
}

/// A worker: a process that offers the cores of another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerStatus {
    /// Name of the worker; several workers may have the same name.
    pub name: String,
    /// State of its connection.
    pub state: WireWord<WorkerLinkState>,
    /// Number of its incarnation: one more each time that it registers after it was lost.
    pub incarnation: u32,
    /// Number of its first node.
    pub first_node: u32,
    /// Number of its nodes.
    pub nodes: u32,
    /// Instant at which its host ends it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Name of its site, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Whether people work at its host, so that tasks give way there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_desktop: bool,
    /// Why its host is in use by others, if it is: no task starts there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<WireWord<HostUseCause>>,
    /// Why the service drained its nodes itself, if it did: `tollgate resume` lets jobs start again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<String>,
    /// Maximum memory of all tasks on one of its nodes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_per_node_bytes: Option<u64>,
    /// Sentences: what is enforced on its host, and what can escape.
    pub enforced: Vec<String>,
}

/// A node: one core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeStatus {
    /// Number of the node, from 0.
    pub id: u32,
    /// State.
    pub state: WireWord<NodeAvailability>,
    /// Number of tasks on the node.
    pub tasks: u32,
    /// Name of its worker; none for a node of the service's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// Why a host is in use by others than tasks, or why an attempt was evicted there.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum HostUseCause {
    /// A person uses it.
    User,
    /// It is about to be rebooted as planned.
    Reboot,
    /// It was lost, or the cause is unknown.
    Lost,
    /// It is outside its hours for tasks.
    Hours,
    /// Another program needs its processors.
    Load,
    /// It runs on its battery.
    Power,
}

impl From<EvictionCause> for HostUseCause {
    fn from(cause: EvictionCause) -> Self {
        match cause {
            EvictionCause::User => Self::User,
            EvictionCause::Reboot => Self::Reboot,
            EvictionCause::Lost => Self::Lost,
            EvictionCause::Hours => Self::Hours,
            EvictionCause::Load => Self::Load,
            EvictionCause::Power => Self::Power,
        }
    }
}

/// The state of the connection to a worker.
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
pub enum WorkerLinkState {
    /// Connected.
    Connected,
    /// Connected, and about to leave: no other task starts there.
    Leaving,
    /// Not connected, and may still come back.
    Disconnected,
    /// Gone.
    Lost,
}

/// The state of a node.
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
pub enum NodeAvailability {
    /// Has no task.
    Idle,
    /// Has a task.
    Busy,
    /// Has a task, and no other starts there.
    Draining,
    /// Has no task, and none starts there.
    Drained,
    /// Its host is in use by others: tasks there are suspended, and none starts.
    InUse,
    /// Is not there.
    Down,
}
