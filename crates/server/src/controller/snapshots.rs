//! The state of the service, of its nodes and of a task at one instant, as answers to requests.

use std::collections::BTreeMap;

use super::class_changes::ClassChangeCounts;
use super::eviction_counts::EvictionCounts;
use tollgate_engine::EngineCapacity;
use tollgate_model::{EvictionCause, ForeignLoad, Instant, MaintenanceWindow, NodeRange, Span};
use tollgate_service::{
    EngineWait, ExpectedArrival, FailedLaunches, JobPrediction, PolicyComparison, PromiseAtRisk,
    PromiseRisk, WaitCause,
};

/// The state of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// The instant of this state.
    pub now: Instant,
    /// How far the service's clock is ahead of its host's, if by more than a minute.
    pub clock_ahead: Option<Span>,
    /// The numbers of promises at risk by cause; an array is one.
    pub at_risk: BTreeMap<PromiseRisk, u32>,
    /// Number of promises that are neither kept, broken nor void yet.
    pub open_promises: u32,
    /// Number of unfinished tasks whose deadline is not promised.
    pub open_unpromised: u32,
    /// Nodes that are up.
    pub nodes: u32,
    /// Nodes that are up and run nothing.
    pub idle: u32,
    /// Tasks that wait in the queue.
    pub queued: u32,
    /// Tasks that are held by their user.
    pub held: u32,
    /// Tasks that run, those that are suspended among them.
    pub running: u32,
    /// Tasks that are suspended, for their computers are in use by others.
    pub suspended: u32,
    /// Workers that are connected.
    pub workers: u32,
    /// Workers that are disconnected, within their grace period.
    pub workers_disconnected: u32,
    /// The maintenance window at this instant, or the next one.
    pub maintenance: Option<MaintenanceWindow>,
    /// Batches that were committed since the store was created.
    pub commits: u64,
    /// The number of times the engine could not carry out a command since the service was started.
    pub engine_failures: u64,
    /// How often a class was seen to run longer than believed, shorter, or as believed again since the service was started.
    pub class_changes: ClassChangeCounts,
    /// The evictions since the service was started.
    pub evictions: EvictionCounts,
    /// The computers that people work at, of connected workers.
    pub desktops: DesktopCounts,
    /// The hosts that load which is not of jobs slows, by name.
    pub slowed_hosts: Vec<(String, ForeignLoad)>,
    /// The comparison of the shadow policy with the real one, if a shadow policy is configured.
    pub shadow: Option<PolicyComparison>,
}

/// Numbers of computers that people work at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DesktopCounts {
    /// Those that take tasks.
    pub free: u32,
    /// Those that others use now.
    pub in_use: u32,
}

/// The capacity of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// The capacity that the engine enforces.
    pub capacity: EngineCapacity,
    /// The number of tasks on each node, by node number; None if the node is down.
    pub nodes: Vec<Option<u32>>,
    /// The nodes on which no task starts: they are drained, or their host is in use by others.
    pub drained: Vec<NodeRange>,
    /// Whether the service offers nodes of its own host.
    pub offers_local_nodes: bool,
    /// The hosts that load which is not of jobs slows, by name.
    pub slowed_hosts: Vec<(String, ForeignLoad)>,
    /// The hosts that are expected at sites.
    pub expected_hosts: Vec<ExpectedArrival>,
    /// The workers on other hosts, with their ranges of these nodes.
    pub workers: Vec<tollgate_workers::WorkerInfo>,
    /// Devices of hosts that are up, and licences.
    pub resources: Vec<ResourceUse>,
}

/// How much of a generic resource is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// The name.
    pub name: String,
    /// The host of the devices; None for licences of the site.
    pub host: Option<String>,
    /// Number of units.
    pub total: u8,
    /// Number of units that running jobs take.
    pub taken: u8,
}

/// A host that a waiting task asks for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHost {
    /// The name.
    pub name: String,
    /// The number of idle processors there, the most of several hosts of this name; None if none of them
    /// takes jobs now.
    pub idle: Option<u32>,
}

/// The first cause for which a job or task waits, with the facts behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFacts {
    /// The cause.
    pub cause: WaitCause,
    /// Idle processors.
    pub idle: u32,
    /// Whether the service has nodes, idle or not.
    pub has_nodes: bool,
    /// The number of tasks of its array that may run at once, if as many run.
    pub reached_limit: Option<u32>,
    /// The host that the job asks for by name, if it does.
    pub host: Option<NamedHost>,
    /// Jobs that the job depends on.
    pub dependencies: Vec<u64>,
    /// The instant for which the job waits before its decision.
    pub begin: Option<Instant>,
    /// The launches since its last start that the site could not carry out.
    pub failed_launches: Option<FailedLaunches>,
}

/// The state of an unfinished task, with its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutlook {
    /// The instant of this state.
    pub now: Instant,
    /// The number of waiting tasks ahead of this one, without tasks that are not yet materialised.
    pub queued_ahead: u32,
    /// The work before the task, if the policy has an order.
    pub order: Option<tollgate_policy::WaitOrder>,
    /// Idle processors.
    pub idle: u32,
    /// Whether the service has nodes, idle or not.
    pub has_nodes: bool,
    /// Number of tasks of its array that are submitted to the gate before this one. None if it is there.
    pub tasks_ahead: Option<u64>,
    /// The number of tasks of its array that may run at once, if as many run.
    pub reached_limit: Option<u32>,
    /// The host that the task asks for by name, if it does.
    pub host: Option<NamedHost>,
    /// The instant for which processors are reserved for the task.
    pub reserved: Option<Instant>,
    /// The predicted start and end, with their uncertainty.
    pub prediction: Option<JobPrediction>,
    /// Jobs that the task depends on.
    pub dependencies: Vec<u64>,
    /// The instant for which the task waits before its decision.
    pub begin: Option<Instant>,
    /// Number of jobs of its class that have failed by themselves.
    pub failures: u64,
    /// The launches since its last start that the site could not carry out.
    pub failed_launches: Option<FailedLaunches>,
    /// The wait of the current attempt for the start of its program, if the engine has not reported it.
    pub engine_wait: Option<EngineWait>,
    /// Why the host of the running task is in use by others, if it is.
    pub in_use: Option<EvictionCause>,
    /// The load that is not of jobs on the slowest host of the running task, as far as it slows the task.
    pub foreign_load: Option<ForeignLoad>,
    /// The end of its host, if the promise of the running task is at risk because of that.
    pub closes_before_end: Option<Instant>,
    /// The risk of the promise to the job, if it is at risk.
    pub risk: Option<PromiseAtRisk>,
}
