//! The state that a policy reads: queued and running jobs, nodes, and placements.
//!
//! The gate owns a [`ClusterState`] and changes it through transitions that check their invariants;
//! policies get a [`View`] of the state, which is read-only.

mod check;
mod coupling;
mod expected_hosts;
mod fading_use;
mod groups;
mod hosts;
mod jobs;
mod logins;
mod machine;
mod node;
mod node_set;
mod placement;
mod recent_requests;
mod task;

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use tollgate_model::{
    Distribution, Instant, JobId, JobSpec, Kinship, MachineSpeeds, MaintenanceCalendar, NodeId,
    NodeRange, NodeSpeed, RuntimeBelief, Span, UserId,
};

use crate::toolkit::{BlockEntry, BlockedList};
pub use coupling::TaskCoupling;
use expected_hosts::ExpectedSites;
pub use expected_hosts::{ExpectedHost, ExpectedHosts, StartForecast, preempted_at};
use fading_use::FadingUses;
pub use fading_use::USE_HALF_LIFE;
use groups::NodeGroups;
pub use groups::SharedStart;
use hosts::LicencePool;
pub use hosts::{HeldDevices, Host, HostPart};
use jobs::RunningJob;
pub use jobs::{Admission, JobPhase, JobSlot};
pub use logins::LoginForecast;
use machine::NodeLimits;
pub use node::{Node, TOLERANCE_S};
use node_set::NodeSet;
use recent_requests::RequestedWork;
pub use task::{NodeTask, requested_share};

/// The state of a cluster: jobs, nodes, and placements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterState {
    jobs: Vec<JobSlot>,
    /// By slot, only up to the last job that was ever forecast; empty without forecasts.
    forecasts: Vec<Option<RuntimeBelief>>,
    vacant: Vec<JobId>,
    over: Vec<JobId>,
    submitted: u64,
    /// Nodes that are up and have no task.
    idle: NodeSet,
    up: NodeSet,
    n_nodes: u32,
    /// A group's tasks are at its lead.
    nodes: Vec<Node>,
    /// Only simulations have groups; no snapshot has them.
    #[serde(skip)]
    groups: NodeGroups,
    /// The common properties of groups of nodes. A replay of a record has one host.
    hosts: Vec<Host>,
    /// The log-ins to be expected at groups of desktops.
    logins: Vec<LoginForecast>,
    /// The hosts that are expected, by site.
    expected: ExpectedSites,
    licences: LicencePool,
    limits: NodeLimits,
    maintenance: MaintenanceCalendar,
    /// A setting of simulations; no snapshot has it.
    #[serde(skip)]
    coupling: TaskCoupling,
    /// Seconds of work that a task loses when it resumes. A setting of simulations; no snapshot has it.
    #[serde(skip)]
    preemption_cost: f64,
    /// Relative to the slowest node. A setting of simulations; no snapshot has it.
    #[serde(skip)]
    speeds: MachineSpeeds,
    running_jobs: BlockedList<RunningJob>,
    /// None if no policy asks for it.
    uses: Option<FadingUses>,
    /// None if no policy asks for it.
    requests: Option<RequestedWork>,
    /// How much more than others some users may use of the machine; above 0, and 1 of all others.
    weights: BTreeMap<UserId, f64>,
}

/// A read-only view of a [`ClusterState`] at an instant.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    state: &'a ClusterState,
    /// The present instant.
    pub now: Instant,
}

impl<'a> View<'a> {
    /// Creates a view of `state` at `now`.
    pub fn new(state: &'a ClusterState, now: Instant) -> Self {
        Self { state, now }
    }

    /// Returns the sites at which hosts are expected, each with its place among the sites.
    pub fn expected_sites(&self) -> impl Iterator<Item = (usize, &'a ExpectedHosts)> + use<'a> {
        self.state.expected.at(self.now)
    }

    /// Returns the hosts that are expected.
    pub fn expected_hosts(&self) -> impl Iterator<Item = &'a ExpectedHost> + use<'a> {
        let sites = self.expected_sites();
        sites.flat_map(|(_, expected)| &expected.hosts)
    }

    /// Returns the number of nodes of the hosts that are expected.
    pub fn n_expected(&self) -> u32 {
        let nodes = self.expected_hosts().map(|host| host.nodes);
        nodes.fold(0, u32::saturating_add)
    }
}

impl Deref for View<'_> {
    type Target = ClusterState;

    fn deref(&self) -> &ClusterState {
        self.state
    }
}

/// Queries.
impl ClusterState {
    /// Returns the hosts that are expected, by site, also those of statements that are too old.
    pub fn stated_hosts(&self) -> &BTreeMap<String, ExpectedHosts> {
        self.expected.by_site()
    }

    /// Returns the job in a slot.
    ///
    /// # Panics
    /// If there never was a job with this id.
    pub fn job(&self, id: JobId) -> &JobSlot {
        &self.jobs[id.index()]
    }

    /// Returns the job in a slot; None if the slot is vacant or was never used.
    pub fn find_job(&self, id: JobId) -> Option<&JobSlot> {
        self.jobs
            .get(id.index())
            .filter(|job| job.phase != JobPhase::Vacant)
    }

    /// Returns the forecast distribution of the job's run time, if any: as of its submission, or
    /// newer while it waits.
    pub fn forecast(&self, id: JobId) -> Option<&Distribution> {
        self.belief(id).map(|belief| &belief.distribution)
    }

    /// Returns all that is believed of the run time of a job.
    pub fn belief(&self, id: JobId) -> Option<&RuntimeBelief> {
        self.forecasts.get(id.index())?.as_ref()
    }

    /// Returns the jobs with which a job is long or short together, if they are known.
    pub fn kinship(&self, id: JobId) -> Option<Kinship> {
        self.belief(id)?.kinship
    }

    /// Returns the number of jobs that were ever submitted: the place of the next one in the order of submission.
    pub fn n_submitted(&self) -> u64 {
        self.submitted
    }

    /// Returns every unfinished job, by slot.
    pub fn jobs(&self) -> impl Iterator<Item = (JobId, &JobSlot)> {
        (0..).map(JobId).zip(&self.jobs).filter(|(_, job)| {
            matches!(
                job.phase,
                JobPhase::Queued | JobPhase::Held | JobPhase::Running
            )
        })
    }

    /// Returns the processor seconds that a user's jobs have held, of which half is forgotten in each
    /// [`USE_HALF_LIFE`]. 0 unless [`ClusterState::follow_uses`] was called.
    pub fn use_of(&self, user: UserId, now: Instant) -> f64 {
        let uses = self.uses.as_ref();
        uses.map_or(0.0, |uses| uses.of(user, now))
    }

    /// Returns the use of the machine that a user made, as [`Self::use_of`], over the weight of the user: it orders the
    /// users fairly.
    pub fn weighted_use_of(&self, user: UserId, now: Instant) -> f64 {
        self.use_of(user, now) / self.weights.get(&user).unwrap_or(&1.0)
    }

    /// Returns the weights of the users that have another one than 1.
    pub fn user_weights(&self) -> &BTreeMap<UserId, f64> {
        &self.weights
    }

    /// Sets the weights of users; that of all others is 1. A user with weight 2 may use twice as much as one with
    /// weight 1 before both are equal in the fair order. Above 0.
    pub fn set_user_weights(&mut self, weights: BTreeMap<UserId, f64>) {
        self.weights = weights;
    }

    /// Returns the users with a request in the last day, each with the processor seconds that
    /// [`ClusterState::note_request`] recorded. Empty unless [`ClusterState::follow_uses`] was called.
    pub fn recent_requests(&self, now: Instant) -> impl Iterator<Item = (UserId, f64)> {
        let requests = self.requests.iter();
        requests.flat_map(move |requests| requests.active(now))
    }

    /// Returns the number of nodes, including nodes that are down; a job's width is compared with
    /// it.
    pub fn n_nodes(&self) -> u32 {
        self.n_nodes
    }

    /// Returns the number of nodes that are up and have no task.
    pub fn n_idle(&self) -> u32 {
        self.idle.len()
    }

    /// Returns the number of nodes on which jobs may start.
    pub fn n_up(&self) -> u32 {
        self.up.len()
    }

    /// Returns true if a node is up.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.up.contains(node)
    }

    /// Returns the nodes of a range that are up and have no task, in ascending order.
    pub fn idle_nodes(&self, range: NodeRange) -> impl Iterator<Item = NodeId> {
        self.idle.nodes_in(range)
    }

    /// Returns the number of a job's processors that other jobs can have once it ends: those of nodes that
    /// are up.
    pub fn released_procs(&self, job: &JobSlot) -> u32 {
        if self.up.len() == self.n_nodes {
            return job.spec.procs;
        }
        let nodes = job.placement.iter().flat_map(|range| range.nodes());
        nodes.filter(|&node| self.is_up(node)).count() as u32
    }

    /// Returns the times in which no job runs, for policies that plan.
    pub fn maintenance(&self) -> &MaintenanceCalendar {
        &self.maintenance
    }

    /// Returns a node and the tasks that share it.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[self.lead_of(id).index()]
    }

    /// Returns the ranges of nodes of equal speed, in ascending order: all nodes, with their speeds
    /// relative to the slowest.
    pub fn speed_ranges(&self) -> impl Iterator<Item = (NodeRange, NodeSpeed)> {
        self.speeds.ranges(self.n_nodes)
    }

    /// Returns the speed of the slowest node of a job's present attempt, relative to the slowest node of
    /// the machine; 1 without an attempt.
    pub fn speed_of_job(&self, id: JobId) -> NodeSpeed {
        self.speeds.slowest_of(&self.jobs[id.index()].placement)
    }

    /// Returns the mean time that a task of a job takes on the nodes of the present attempt, if it takes
    /// `time` on the slowest node of the machine. Returns `time` without an attempt.
    pub fn mean_task_time(&self, id: JobId, time: Span) -> Span {
        let placement = &self.jobs[id.index()].placement;
        self.speeds.mean_time_for(time, placement)
    }

    /// Returns true if nodes have limits besides their processors.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits != NodeLimits::default()
    }

    /// Returns the smallest memory of any node, in bytes, if known.
    pub fn min_memory(&self) -> Option<u64> {
        let known = [self.limits.least_memory, self.expected.least_memory()];
        known.into_iter().flatten().min()
    }

    /// Returns true if a task of such a job may run on a node beside the tasks there. A job without
    /// a deadline leaves the last place to jobs with a promise.
    pub fn has_capacity(&self, id: NodeId, spec: &JobSpec) -> bool {
        if !self.is_limited() {
            return true;
        }
        let held = self.node(id).tasks.len() as u32;
        held < self.most_tasks_beside(spec) && self.has_memory(self.node(id), spec.memory)
    }

    /// Returns true if a job like this one could start in its place once it has ended: other jobs would have
    /// to leave the place to a promise.
    pub fn may_be_followed(&self, id: JobId) -> bool {
        let job = self.job(id);
        let most = self.most_tasks_beside(&job.spec);
        let mut nodes = job.placement.iter().flat_map(|range| range.nodes());
        nodes.all(|node| {
            let others = self.node(node).tasks.len().saturating_sub(1);
            (others as u32) < most
        })
    }

    /// Returns true if a node has room for a job in the place of one that has just ended there, also if that is
    /// the last place.
    pub(crate) fn has_place(&self, id: NodeId, spec: &JobSpec) -> bool {
        let node = self.node(id);
        let held = node.tasks.len() as u32;
        self.limits.tasks.is_none_or(|most| held < most) && self.has_memory(node, spec.memory)
    }

    /// Returns the number of tasks on a node from which on no other one of such a job starts there.
    fn most_tasks_beside(&self, spec: &JobSpec) -> u32 {
        let left_free = u32::from(spec.sla.deadline.is_none());
        let most = self.limits.tasks;
        most.map_or(u32::MAX, |most| most.saturating_sub(left_free).max(1))
    }

    fn has_memory(&self, node: &Node, needed: u64) -> bool {
        let (Some(memory), true) = (node.memory, needed > 0) else {
            return true;
        };
        let held = node.tasks.iter().map(|task| self.job(task.job).spec.memory);
        held.fold(needed, u64::saturating_add) <= memory
    }

    /// Returns true if a job has a task on a node that it shares, or could share, with other jobs.
    pub fn is_shared_on(&self, job: JobId, node: NodeId) -> bool {
        let node = self.nodes.get(self.lead_of(node).index());
        node.is_some_and(|node| node.tasks.iter().any(|task| task.job == job))
    }

    /// Returns true if a task of a running job runs on a node.
    pub fn runs_on(&self, id: JobId, node: NodeId) -> bool {
        let job = self.job(id);
        let placed = job.placement.iter().any(|range| range.contains(node));
        placed && (self.is_shared_on(id, node) || self.is_exclusive(job))
    }

    /// Returns true if a running job has its nodes to itself.
    fn is_exclusive(&self, job: &JobSlot) -> bool {
        self.running_jobs.contains(job.running_job().key())
    }

    /// Returns the first instant at which a running space-shared job ends if its estimate is right.
    pub fn first_estimated_end(&self) -> Option<Instant> {
        self.running_jobs.first().map(|runner| runner.end)
    }

    /// Returns the running space-shared jobs, in blocks by estimated end, with each block's
    /// processors.
    pub(crate) fn running_jobs(&self) -> &BlockedList<RunningJob> {
        &self.running_jobs
    }
}
