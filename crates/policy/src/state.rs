//! The state that a policy reads: queued and running jobs, nodes, and placements.
//!
//! The gate owns a [`ClusterState`] and changes it through transitions that check their invariants;
//! policies get a [`View`] of the state, which is read-only.

mod check;
mod coupling;
mod groups;
mod hosts;
mod node;
mod node_set;
mod task;

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, MachineSpeeds, MaintenanceCalendar, NodeId,
    NodeRange, NodeSpeed, Span,
};

use crate::toolkit::{BlockEntry, BlockedList};
pub use coupling::TaskCoupling;
use groups::NodeGroups;
pub use groups::SharedStart;
use hosts::LicencePool;
pub use hosts::{HeldDevices, Host, HostPart};
pub use node::{Node, TOLERANCE_S};
use node_set::NodeSet;
pub use task::{NodeTask, requested_share};

/// The phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobPhase {
    /// The slot holds no job.
    Vacant,
    /// The job waits for a start.
    Queued,
    /// The job is held by its user; no policy has it in its queue.
    Held,
    /// At least one task of the job runs.
    Running,
    /// The job was rejected, cancelled, lost or has finished; the slot is recycled after the pass.
    Closed,
}

/// The admission of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The instant of admission.
    pub at: Instant,
    /// The price.
    pub price: Credits,
    /// The instant by which the policy plans the job's end, if that is not its deadline: such a job
    /// takes the place in the order of deadlines that this instant gives it.
    pub due: Option<Instant>,
}

/// A job in its slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSlot {
    /// The user's specification.
    pub spec: JobSpec,
    /// The job's place in the order of submission; breaks ties.
    pub sequence: u64,
    /// The job's phase.
    pub phase: JobPhase,
    /// Number of the present or last attempt. No slot uses a number twice, so that (slot, attempt)
    /// identifies an attempt for good.
    pub attempt: u32,
    /// The admission; None if the job is not admitted.
    pub accepted: Option<Admission>,
    /// The start of the present attempt.
    pub start: Option<Instant>,
    /// The start for which a policy last reserved processors. A plan, not a promise.
    pub planned: Option<Instant>,
    /// True if an operator lets the job be promised beyond its user's share.
    pub granted: bool,
    /// True if the user cancelled the job while it runs.
    pub cancelling: bool,
    placement: Vec<NodeRange>,
    devices: Vec<HeldDevices>,
    tasks_left: u32,
    /// The speed of the tasks, if they run in step. Only simulations have such jobs; no snapshot has it.
    #[serde(skip)]
    speed_in_step: f64,
}

impl JobSlot {
    /// Returns the nodes of the present attempt, including nodes whose task has ended already, in
    /// ascending order.
    pub fn placement(&self) -> &[NodeRange] {
        &self.placement
    }

    /// Returns the end of the job if its estimate is right; None while it does not run.
    pub fn estimated_end(&self) -> Option<Instant> {
        self.start.map(|start| start + self.spec.estimate)
    }
}

/// The limits of nodes besides their processors; None means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NodeLimits {
    /// Maximum number of tasks that share a node.
    tasks: Option<u32>,
    /// The smallest memory of any node, in bytes.
    least_memory: Option<u64>,
}

/// A running space-shared job, ordered by estimated end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunningJob {
    pub(crate) end: Instant,
    sequence: u64,
    pub(crate) procs: u32,
}

impl BlockEntry for RunningJob {
    type Key = (Instant, u64);
    type Summary = u32;

    fn key(&self) -> (Instant, u64) {
        (self.end, self.sequence)
    }

    fn summary(block: &[Self]) -> u32 {
        block.iter().map(|runner| runner.procs).sum()
    }

    fn include(&self, sum: &mut u32) {
        *sum += self.procs;
    }

    fn exclude(&self, sum: &mut u32, _: &[Self]) {
        *sum -= self.procs;
    }

    fn merge(sum: &mut u32, more: &u32) {
        *sum += more;
    }
}

/// The state of a cluster: jobs, nodes, and placements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterState {
    jobs: Vec<JobSlot>,
    /// By slot, only up to the last job that was ever forecast; empty without forecasts.
    forecasts: Vec<Option<Distribution>>,
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
    /// What groups of nodes have in common. A replay of a record has one host.
    hosts: Vec<Host>,
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
}

impl Deref for View<'_> {
    type Target = ClusterState;

    fn deref(&self) -> &ClusterState {
        self.state
    }
}

/// Queries.
impl ClusterState {
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
        self.forecasts.get(id.index())?.as_ref()
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
    /// `time` on the slowest node of the machine; `time` without an attempt.
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
        self.limits.least_memory
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

    fn has_memory(&self, node: &Node, wanted: u64) -> bool {
        let (Some(memory), true) = (node.memory, wanted > 0) else {
            return true;
        };
        let held = node.tasks.iter().map(|task| self.job(task.job).spec.memory);
        held.fold(wanted, u64::saturating_add) <= memory
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

/// Submission and removal of jobs.
impl ClusterState {
    /// Adds a job to a slot, queued.
    pub fn insert(&mut self, spec: JobSpec) -> JobId {
        let sequence = self.submitted;
        self.submitted += 1;
        if let Some(id) = self.vacant.pop() {
            let job = &mut self.jobs[id.index()];
            job.spec = spec;
            job.sequence = sequence;
            job.phase = JobPhase::Queued;
            return id;
        }
        let id = JobId(u32::try_from(self.jobs.len()).expect("fewer than 2^32 jobs at a time"));
        self.jobs.push(JobSlot {
            spec,
            sequence,
            phase: JobPhase::Queued,
            attempt: 0,
            accepted: None,
            start: None,
            planned: None,
            granted: false,
            cancelling: false,
            placement: Vec::new(),
            devices: Vec::new(),
            tasks_left: 0,
            speed_in_step: 0.0,
        });
        id
    }

    /// Records the forecast distribution of the run time of the job in a slot.
    pub fn set_forecast(&mut self, id: JobId, forecast: Distribution) {
        if id.index() >= self.forecasts.len() {
            self.forecasts.resize(id.index() + 1, None);
        }
        self.forecasts[id.index()] = Some(forecast);
    }

    /// Admits a job; a job that is admitted already keeps its first admission.
    pub fn accept(&mut self, id: JobId, now: Instant, price: Credits, due: Option<Instant>) {
        let job = &mut self.jobs[id.index()];
        assert!(
            matches!(job.phase, JobPhase::Queued | JobPhase::Running),
            "{id:?} is {:?} and cannot be accepted",
            job.phase
        );
        job.accepted.get_or_insert(Admission {
            at: now,
            price,
            due,
        });
    }

    /// Takes the deadline off a job that is not admitted.
    pub fn drop_deadline(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert!(job.accepted.is_none(), "{id:?} is admitted");
        job.spec.sla.deadline = None;
    }

    /// Lets a job be promised beyond its user's share.
    pub fn grant(&mut self, id: JobId) {
        self.jobs[id.index()].granted = true;
    }

    /// Records when a policy means to start a queued job.
    pub fn set_planned_start(&mut self, id: JobId, at: Instant) {
        self.jobs[id.index()].planned = Some(at);
    }

    /// Holds a queued job, or releases it.
    pub fn set_held(&mut self, id: JobId, held: bool) {
        let job = &mut self.jobs[id.index()];
        let (from, to) = if held {
            (JobPhase::Queued, JobPhase::Held)
        } else {
            (JobPhase::Held, JobPhase::Queued)
        };
        assert_eq!(job.phase, from, "{id:?}");
        job.phase = to;
    }

    /// Marks a running job as being cancelled.
    pub fn set_cancelling(&mut self, id: JobId) {
        self.jobs[id.index()].cancelling = true;
    }

    /// Ends a job that does not run: rejected, cancelled, lost, finished.
    pub fn close(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert!(
            matches!(job.phase, JobPhase::Queued | JobPhase::Held),
            "{id:?} is {:?} and cannot be closed",
            job.phase
        );
        job.phase = JobPhase::Closed;
        self.over.push(id);
    }

    /// Recycles the slots of ended jobs. Until then drivers can still read them.
    pub fn recycle(&mut self) {
        for id in self.over.drain(..) {
            let job = &mut self.jobs[id.index()];
            job.phase = JobPhase::Vacant;
            job.accepted = None;
            job.start = None;
            job.planned = None;
            job.granted = false;
            job.cancelling = false;
            job.placement.clear();
            if let Some(forecast) = self.forecasts.get_mut(id.index()) {
                *forecast = None;
            }
            self.vacant.push(id);
        }
    }
}

/// Addition and removal of nodes.
impl ClusterState {
    /// Limits the number of tasks per node, if a limit is given; at least 1. Tasks already on a
    /// node stay.
    pub fn set_task_limit(&mut self, most: Option<u32>) {
        self.limits.tasks = most;
    }

    /// Sets the times in which no job runs.
    pub fn set_maintenance(&mut self, calendar: MaintenanceCalendar) {
        self.maintenance = calendar;
    }

    /// Sets the seconds of work that a task loses when it resumes after it stood still, before nodes are
    /// added. Not negative.
    pub fn set_preemption_cost(&mut self, cost: Span) {
        self.preemption_cost = cost.as_secs_f64();
    }

    /// Sets the speeds of the nodes relative to the slowest of them, before nodes are added. All nodes have
    /// the same speed by default. Run times, estimates and forecasts are those on the slowest node.
    pub fn set_speeds(&mut self, speeds: MachineSpeeds) {
        self.speeds = speeds;
    }

    /// Sets the memory of each of these nodes in bytes, if known.
    pub fn set_memory(&mut self, nodes: NodeRange, memory: Option<u64>) {
        for node in nodes.nodes() {
            self.nodes[node.index()].memory = memory;
        }
        let known = self.nodes.iter().filter_map(|node| node.memory);
        self.limits.least_memory = known.min();
    }

    /// Adds `count` nodes, up and idle, and returns them. `count` is at least 1.
    pub fn add_nodes(&mut self, count: u32) -> NodeRange {
        let range = NodeRange {
            first: self.n_nodes,
            len: count,
        };
        self.n_nodes += count;
        let node = Node {
            preemption_cost: self.preemption_cost,
            ..Node::default()
        };
        self.nodes.resize(self.n_nodes as usize, node);
        for node in range.nodes() {
            self.nodes[node.index()].speed = self.speeds.of(node);
            self.up.insert(node);
            self.idle.insert(node);
        }
        range
    }

    /// Marks a node that was down as up.
    pub fn set_up(&mut self, node: NodeId) {
        assert!(self.up.insert(node), "{node:?} is up already");
        self.idle.insert(node);
    }

    /// Marks a node as down. Its tasks must have been ended.
    pub fn set_down(&mut self, node: NodeId) {
        if self.up.remove(node) {
            assert!(self.idle.remove(node), "{node:?} still holds tasks");
        }
    }

    /// Drains a node that is up: its tasks go on, and no other starts there. No other node stands for it.
    pub fn drain(&mut self, node: NodeId) {
        let lead = self.lead_of(node);
        assert!(self.group_size(lead) == 1, "{node:?} is one of a group");
        self.up.remove(node);
        self.idle.remove(node);
    }

    /// Lets tasks start again on a node that was drained.
    pub fn resume(&mut self, node: NodeId) {
        let is_busy = self
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running)
            .any(|(id, _)| self.runs_on(id, node));
        self.up.insert(node);
        if !is_busy {
            self.idle.insert(node);
        }
    }
}

/// Starts and ends of jobs.
impl ClusterState {
    /// Starts a queued job exclusively on the lowest idle nodes.
    pub fn start_exclusive(&mut self, id: JobId, now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        debug_assert!(job.spec.needs.units.is_none(), "{id:?} needs a host");
        self.idle.take_lowest(job.spec.procs, &mut job.placement);
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
    }

    /// Starts a held job exclusively on these nodes, all of them idle. It takes no devices and no licences.
    pub fn start_held(&mut self, id: JobId, nodes: &[NodeRange], now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Held, "{id:?}");
        assert!(job.spec.needs.units.is_none(), "{id:?} needs a host");
        for node in nodes.iter().flat_map(|range| range.nodes()) {
            assert!(self.idle.contains(node), "{node:?} is not idle");
            self.idle.remove(node);
        }
        job.placement = nodes.to_vec();
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
    }

    /// Returns whether all of these nodes are up and idle.
    pub fn are_idle(&self, nodes: &[NodeRange]) -> bool {
        let mut nodes = nodes.iter().flat_map(|range| range.nodes());
        nodes.all(|node| self.idle.contains(node))
    }

    /// Starts a queued job on these nodes, beside the tasks running there. The caller must then set
    /// the shares on each of the returned nodes.
    pub fn start_shared(
        &mut self,
        id: JobId,
        nodes: &[NodeId],
        now: Instant,
        price: Credits,
    ) -> SharedStart {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        assert_eq!(nodes.len(), job.spec.procs as usize, "{id:?}");
        job.begin_attempt(now, price);
        job.placement = ranges(nodes);
        let started = self.group_for(id, nodes);
        for &node in nodes {
            assert!(self.up.contains(node), "{node:?} is down");
            self.idle.remove(node);
        }
        let job = &self.jobs[id.index()];
        let slowest = self.speeds.slowest_of(&job.placement);
        let is_rigid = self.is_rigid();
        for &lead in &started.leads {
            let node = &mut self.nodes[lead.index()];
            node.add_task(id, &job.spec, now);
            if is_rigid {
                node.keep_last_in_step(slowest);
            }
        }
        started
    }

    /// Ends the task of a shared job on a lead and on all nodes that it stands for; returns true if the
    /// job has no other task. The caller must then set the shares of the lead.
    pub fn end_task(&mut self, id: JobId, lead: NodeId, now: Instant) -> bool {
        let node = &mut self.nodes[lead.index()];
        let at = node.place_of(id);
        node.remove_task(at.expect("the job has a task on this node"), now);
        let is_idle = node.tasks.is_empty() && self.up.contains(lead);
        let job = &mut self.jobs[id.index()];
        job.tasks_left -= self.groups.size(lead);
        if is_idle {
            for range in self.groups.nodes_of(lead) {
                self.idle.insert_range(range);
            }
            self.groups.dissolve(lead);
        }
        job.tasks_left == 0
    }

    /// Takes a running job off all its nodes and queues it. For a shared job the leads that held
    /// one of its tasks are returned, because their shares must be set.
    pub fn unplace(&mut self, id: JobId, now: Instant) -> Vec<NodeId> {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Running, "{id:?}");
        job.phase = JobPhase::Queued;
        self.release_units(id);
        let job = &mut self.jobs[id.index()];
        if self.running_jobs.remove(job.running_job().key()).is_some() {
            let has_closed = self.up.len() < self.n_nodes;
            for &range in &job.placement {
                match has_closed {
                    false => self.idle.insert_range(range),
                    true => {
                        for node in range.nodes().filter(|&node| self.up.contains(node)) {
                            self.idle.insert(node);
                        }
                    }
                }
            }
            return Vec::new();
        }
        let job = &self.jobs[id.index()];
        if job.tasks_left == 0 {
            return Vec::new();
        }
        let nodes: Vec<NodeId> = job
            .placement
            .iter()
            .flat_map(|range| range.nodes())
            .filter(|&node| self.lead_of(node) == node && self.is_shared_on(id, node))
            .collect();
        for &node in &nodes {
            self.end_task(id, node, now);
        }
        nodes
    }

    /// Discards the attempt of a job that [`ClusterState::unplace`] queued, so that it can start
    /// afresh.
    pub fn reset_attempt(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        job.start = None;
        job.placement.clear();
    }

    /// Sets the shares of a lead's tasks, in order, after bringing their work up to `now`. Returns
    /// the latest instant at which they must be set again: a deadline passes, or a task has done
    /// the seconds of work that are its `mark`.
    pub fn set_shares(
        &mut self,
        node: NodeId,
        now: Instant,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) -> Option<Instant> {
        self.nodes[node.index()].set_rates(now, share, mark)
    }

    /// Returns the latest instant at which the shares of a node must be set again, after its rates
    /// changed; as [`ClusterState::set_shares`] does.
    pub fn next_change(&self, node: NodeId, mark: impl Fn(&NodeTask) -> f64) -> Option<Instant> {
        self.node(node).next_change(mark)
    }
}

impl JobSlot {
    fn begin_attempt(&mut self, now: Instant, price: Credits) {
        self.phase = JobPhase::Running;
        self.attempt += 1;
        self.accepted.get_or_insert(Admission {
            at: now,
            price,
            due: None,
        });
        self.start = Some(now);
        self.tasks_left = self.spec.procs;
    }

    fn running_job(&self) -> RunningJob {
        RunningJob {
            end: self.estimated_end().unwrap_or(Instant::MAX),
            sequence: self.sequence,
            procs: self.spec.procs,
        }
    }
}

/// Groups ascending nodes into ranges of neighbours.
fn ranges(nodes: &[NodeId]) -> Vec<NodeRange> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<NodeRange> = Vec::new();
    for node in sorted {
        match ranges.last_mut() {
            Some(last) if last.first + last.len == node.0 => last.len += 1,
            _ => ranges.push(NodeRange {
                first: node.0,
                len: 1,
            }),
        }
    }
    ranges
}

#[cfg(test)]
impl ClusterState {
    /// Starts a new job of a minute on these nodes, one task on each, beside the jobs that are there.
    pub(crate) fn share_with_new_job(&mut self, nodes: &[NodeId]) {
        let job = self.insert(JobSpec {
            submit: Instant::ZERO,
            estimate: Span::from_secs(60),
            procs: nodes.len() as u32,
            memory: 0,
            needs: Default::default(),
            user: tollgate_model::UserId(0),
            sla: tollgate_model::Sla::default(),
        });
        self.start_shared(job, nodes, Instant::ZERO, Credits::ZERO);
    }
}
