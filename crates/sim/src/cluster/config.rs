//! The configuration of a replay.

use tollgate_model::{Bytes, MachineSpeeds, Market, PenaltyLimit, Span};
use tollgate_policy::{ParameterEnum, TaskCoupling};
use tollgate_workload::JobArrival;

use super::stop::StopSignal;

/// Maximum number of nodes of a machine: a policy keeps up to 400 bytes per node, 4 GB in all.
pub const MAX_NODES: u32 = 10_000_000;

/// Maximum number of nodes that a trace may declare for its machine. No machine of the archives has
/// more than a fifth of this; a damaged header must not fill the memory.
pub const MAX_RECORD_NODES: u32 = 1_000_000;

/// The highest cost of preemption, of about 12 days.
pub const MAX_PREEMPTION_COST: Span = Span::from_secs(1_000_000);

/// The configuration of a replay besides its jobs and its policy.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayConfig {
    /// Number of nodes; at least 1.
    pub nodes: u32,
    /// The speeds of the nodes. Run times and estimates of jobs are those on a node of speed 1.
    pub speeds: MachineSpeeds,
    /// Memory of each node. None if memory does not count: then no job has any.
    pub node_memory: Option<Bytes>,
    /// The market.
    pub market: Market,
    /// Whether the tasks of a job run in step on nodes that jobs share.
    pub tasks: TaskCoupling,
    /// The work that a task loses when it resumes after it stood still: 0 to [`MAX_PREEMPTION_COST`].
    pub preemption_cost: Span,
    /// The treatment of a job that runs longer than its user's estimate.
    pub overrun: OverrunRule,
    /// The extent of recording and verification.
    pub record_level: RecordLevel,
    /// Whether the probability of each promise is computed, where the policy plays futures. It decides
    /// nothing.
    pub states_promises: bool,
    /// The most that delays cost where users bid.
    pub penalty_limit: PenaltyLimit,
    /// Number of the last nodes on which only jobs run whose run time cannot be predicted, fewer than all. Only for a policy
    /// that chooses hosts.
    pub dedicated_nodes: u32,
    /// The signal that ends the replay before its last job.
    pub stop: StopSignal,
}

impl ReplayConfig {
    /// Creates the configuration of a machine of `nodes` nodes, at least 1, with the defaults of the papers.
    /// Nodes are as fast as those of the record, and tasks progress on their own. Preemption costs nothing,
    /// memory does not count, jobs run to their end, and delays cost without limit. Only outcomes are recorded.
    pub fn new(nodes: u32, market: Market) -> Self {
        Self {
            nodes,
            speeds: MachineSpeeds::default(),
            node_memory: None,
            market,
            tasks: TaskCoupling::default(),
            preemption_cost: Span::ZERO,
            overrun: OverrunRule::default(),
            record_level: RecordLevel::Outcomes,
            states_promises: false,
            penalty_limit: PenaltyLimit::UNLIMITED,
            dedicated_nodes: 0,
            stop: StopSignal::default(),
        }
    }
}

/// The treatment of a job that is not finished when its work reaches its user's estimate. A job whose user
/// gave none has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverrunRule {
    /// The job runs to its end.
    #[default]
    Run,
    /// The job is killed at its limit. The limit counts work: a job that is paused or shares its nodes
    /// has longer.
    Kill,
}

impl ParameterEnum for OverrunRule {
    const KEYWORDS: &'static [(&'static str, Self)] = &[("run", Self::Run), ("kill", Self::Kill)];
}

impl OverrunRule {
    /// Returns whether a job is killed at its limit, which is its own request.
    pub fn kills(self, arrival: &JobArrival) -> bool {
        self.limit(arrival)
            .is_some_and(|limit| arrival.runtime > limit)
    }

    /// Returns the run time at which a job is killed; None if it runs to its end.
    pub(super) fn limit(self, arrival: &JobArrival) -> Option<Span> {
        (self == Self::Kill && arrival.is_requested).then_some(arrival.spec.estimate)
    }
}

/// The extent to which a replay records and verifies more than the outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLevel {
    /// Outcomes only.
    Outcomes,
    /// Outcomes, and the placement, class and batch of each job.
    Placements,
    /// Outcomes and placements, with the schedule verified after every event and at the end.
    Checked,
}
