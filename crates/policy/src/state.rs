//! What a policy sees: jobs that are queued or run, nodes, and who runs where.
//!
//! The gate owns a [`ClusterState`] and changes it through transitions that check their invariants;
//! policies get it as a [`View`], which they can only read.

mod check;
mod idle;
mod node;

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use tollgate_model::{Credits, Distribution, Instant, JobId, JobSpec, NodeId, NodeRange};

use crate::blocked_list::{BlockEntry, BlockedList};
use idle::NodeSet;
pub(crate) use node::requested_share;
pub use node::{Node, NodeTask, TOLERANCE_S};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobPhase {
    /// The slot holds no job.
    Vacant,
    /// It waits for a start.
    Queued,
    /// Its user holds it back; it is in no policy's queue.
    Held,
    /// At least one task of it runs.
    Running,
    /// It was rejected, cancelled, lost or has finished; the slot is recycled after the pass.
    Closed,
}

/// What a job was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// When it was let in.
    pub at: Instant,
    /// What it will cost.
    pub price: Credits,
}

/// A job in its slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSlot {
    /// What the user handed in.
    pub spec: JobSpec,
    /// Its place in the order of submission, by which ties are broken.
    pub sequence: u64,
    /// Where it stands.
    pub phase: JobPhase,
    /// Which try at running it is under way, or was last; never used twice by one slot, so that
    /// (slot, attempt) names a try for good.
    pub attempt: u32,
    /// Since when and at what price it is let in.
    pub accepted: Option<Admission>,
    /// When the present attempt started.
    pub start: Option<Instant>,
    /// For when a policy last reserved processors for it. A plan, no promise.
    pub planned: Option<Instant>,
    /// Whether its user wants it ended while it runs.
    pub cancelling: bool,
    placement: Vec<NodeRange>,
    tasks_left: u32,
}

impl JobSlot {
    /// The nodes of the present attempt, those included whose task has ended already, in
    /// ascending order.
    pub fn placement(&self) -> &[NodeRange] {
        &self.placement
    }

    /// When it ends if its estimate is right; none while it does not run.
    pub fn estimated_end(&self) -> Option<Instant> {
        self.start.map(|start| start + self.spec.estimate)
    }
}

/// What nodes may hold, beside what their processors can do; without any, as much as comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NodeLimits {
    /// Tasks that may share a node.
    tasks: Option<u32>,
    /// Bytes of memory of the node that has the least.
    least_memory: Option<u64>,
}

/// A space-shared job that runs, in order of estimated end.
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
}

/// Jobs, nodes, and who runs where.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClusterState {
    jobs: Vec<JobSlot>,
    /// By slot, only as far as any job was ever forecast: without forecasts there is nothing here.
    forecasts: Vec<Option<Distribution>>,
    vacant: Vec<JobId>,
    over: Vec<JobId>,
    submitted: u64,
    /// Nodes that are up and hold no task.
    idle: NodeSet,
    up: NodeSet,
    n_nodes: u32,
    nodes: Vec<Node>,
    limits: NodeLimits,
    running_jobs: BlockedList<RunningJob>,
}

/// A [`ClusterState`] at an instant, to read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    state: &'a ClusterState,
    /// The present instant.
    pub now: Instant,
}

impl<'a> View<'a> {
    /// `state` at `now`.
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

/// Reading.
impl ClusterState {
    /// The job in a slot.
    ///
    /// # Panics
    /// If there never was a job with this id.
    pub fn job(&self, id: JobId) -> &JobSlot {
        &self.jobs[id.index()]
    }

    /// The job in a slot, unless the slot is vacant, or never was used.
    pub fn find_job(&self, id: JobId) -> Option<&JobSlot> {
        self.jobs
            .get(id.index())
            .filter(|job| job.phase != JobPhase::Vacant)
    }

    /// How long the job in a slot may run, if that was forecast when it was handed in.
    pub fn forecast(&self, id: JobId) -> Option<&Distribution> {
        self.forecasts.get(id.index())?.as_ref()
    }

    /// Every job that is not over, by slot.
    pub fn jobs(&self) -> impl Iterator<Item = (JobId, &JobSlot)> {
        (0..).map(JobId).zip(&self.jobs).filter(|(_, job)| {
            matches!(
                job.phase,
                JobPhase::Queued | JobPhase::Held | JobPhase::Running
            )
        })
    }

    /// How many nodes there are, those included that are down at present: what a job's width is
    /// held against.
    pub fn n_nodes(&self) -> u32 {
        self.n_nodes
    }

    /// How many nodes are up and hold no task.
    pub fn n_idle(&self) -> u32 {
        self.idle.len()
    }

    /// Whether a node is there at present.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.up.contains(node)
    }

    /// A node and the tasks that share it.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Whether nodes have limits beside their processors.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits != NodeLimits::default()
    }

    /// Bytes of memory of the node that has the least, where that is known.
    pub fn min_memory(&self) -> Option<u64> {
        self.limits.least_memory
    }

    /// Whether a task of such a job may be on a node beside those that are there. One without a
    /// deadline leaves the last place to those that are promised something.
    pub fn has_capacity(&self, id: NodeId, spec: &JobSpec) -> bool {
        if !self.is_limited() {
            return true;
        }
        let node = &self.nodes[id.index()];
        let held = node.tasks.len() as u32;
        let left_free = u32::from(spec.sla.deadline.is_none());
        let has_place = |most: u32| held < most.saturating_sub(left_free).max(1);
        self.limits.tasks.is_none_or(has_place) && self.has_memory(node, spec.memory)
    }

    fn has_memory(&self, node: &Node, wanted: u64) -> bool {
        let (Some(memory), true) = (node.memory, wanted > 0) else {
            return true;
        };
        let held = node.tasks.iter().map(|task| self.job(task.job).spec.memory);
        held.fold(wanted, u64::saturating_add) <= memory
    }

    /// Whether a job has a task on a node that it shares, or could share, with others.
    pub fn is_shared_on(&self, job: JobId, node: NodeId) -> bool {
        let node = self.nodes.get(node.index());
        node.is_some_and(|node| node.tasks.iter().any(|task| task.job == job))
    }

    /// Whether anything of a running job runs on a node.
    pub fn runs_on(&self, id: JobId, node: NodeId) -> bool {
        let job = self.job(id);
        let placed = job.placement.iter().any(|range| range.contains(node));
        placed && (self.is_shared_on(id, node) || self.is_exclusive(job))
    }

    /// Whether a running job has its nodes to itself.
    fn is_exclusive(&self, job: &JobSlot) -> bool {
        self.running_jobs.contains(job.running_job().key())
    }

    /// Space-shared jobs that run, in blocks by estimated end, with each block's processors.
    pub(crate) fn running_jobs(&self) -> &BlockedList<RunningJob> {
        &self.running_jobs
    }
}

/// Jobs in and out.
impl ClusterState {
    /// Puts a job into a slot, queued.
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
            cancelling: false,
            placement: Vec::new(),
            tasks_left: 0,
        });
        id
    }

    /// Notes how long the job in a slot may run.
    pub fn set_forecast(&mut self, id: JobId, forecast: Distribution) {
        if id.index() >= self.forecasts.len() {
            self.forecasts.resize(id.index() + 1, None);
        }
        self.forecasts[id.index()] = Some(forecast);
    }

    /// Lets a job in; a job that is let in already keeps its first acceptance.
    pub fn accept(&mut self, id: JobId, now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert!(
            matches!(job.phase, JobPhase::Queued | JobPhase::Running),
            "{id:?} is {:?} and cannot be accepted",
            job.phase
        );
        job.accepted.get_or_insert(Admission { at: now, price });
    }

    /// Sets when a policy means to start a queued job.
    pub fn set_planned_start(&mut self, id: JobId, at: Instant) {
        self.jobs[id.index()].planned = Some(at);
    }

    /// Holds a queued job back, or lets it queue again.
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

    /// Notes that a running job is to end.
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

    /// Recycles the slots of jobs that are over. Until then drivers can still read them.
    pub fn recycle(&mut self) {
        for id in self.over.drain(..) {
            let job = &mut self.jobs[id.index()];
            job.phase = JobPhase::Vacant;
            job.accepted = None;
            job.start = None;
            job.planned = None;
            job.cancelling = false;
            job.placement.clear();
            if let Some(forecast) = self.forecasts.get_mut(id.index()) {
                *forecast = None;
            }
            self.vacant.push(id);
        }
    }
}

/// Nodes coming and going.
impl ClusterState {
    /// Lets at most so many tasks share a node, if there is a limit; at least 1. Those that are
    /// there stay.
    pub fn set_task_limit(&mut self, most: Option<u32>) {
        self.limits.tasks = most;
    }

    /// Says how many bytes of memory each of these nodes has, where that is known.
    pub fn set_memory(&mut self, nodes: NodeRange, memory: Option<u64>) {
        for node in nodes.nodes() {
            self.nodes[node.index()].memory = memory;
        }
        let known = self.nodes.iter().filter_map(|node| node.memory);
        self.limits.least_memory = known.min();
    }

    /// Adds `count` nodes, up and idle; returns them. `count` is at least 1.
    pub fn add_nodes(&mut self, count: u32) -> NodeRange {
        let range = NodeRange {
            first: self.n_nodes,
            len: count,
        };
        self.n_nodes += count;
        self.nodes.resize(self.n_nodes as usize, Node::default());
        for node in range.nodes() {
            self.up.insert(node);
            self.idle.insert(node);
        }
        range
    }

    /// Brings a node back that was down.
    pub fn set_up(&mut self, node: NodeId) {
        assert!(self.up.insert(node), "{node:?} is up already");
        self.idle.insert(node);
    }

    /// Takes a node away. Its tasks must have been ended.
    pub fn set_down(&mut self, node: NodeId) {
        assert!(self.idle.remove(node), "{node:?} still holds tasks");
        self.up.remove(node);
    }
}

/// Starting and ending.
impl ClusterState {
    /// Starts a queued job on the lowest idle nodes, all to itself.
    pub fn start_exclusive(&mut self, id: JobId, now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        self.idle.take_lowest(job.spec.procs, &mut job.placement);
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
    }

    /// Starts a queued job on these nodes, beside what runs there. Shares must be set on each of
    /// them next.
    pub fn start_shared(&mut self, id: JobId, nodes: &[NodeId], now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        assert_eq!(nodes.len(), job.spec.procs as usize, "{id:?}");
        job.begin_attempt(now, price);
        for &node in nodes {
            assert!(self.up.contains(node), "{node:?} is down");
            self.idle.remove(node);
            self.nodes[node.index()].add_task(id, &job.spec, now);
        }
        job.placement = ranges(nodes);
    }

    /// Ends one task of a shared job; true if it was its last. Shares must be set on the node
    /// next.
    pub fn end_task(&mut self, id: JobId, node_id: NodeId, now: Instant) -> bool {
        let node = &mut self.nodes[node_id.index()];
        let at = node.tasks.iter().position(|task| task.job == id);
        node.remove_task(at.expect("the job has a task on this node"), now);
        if node.tasks.is_empty() {
            self.idle.insert(node_id);
        }
        let job = &mut self.jobs[id.index()];
        job.tasks_left -= 1;
        job.tasks_left == 0
    }

    /// Takes a running job off all its nodes and queues it; for a shared job the nodes that held
    /// a task of it are returned, for shares to be set there.
    pub fn unplace(&mut self, id: JobId, now: Instant) -> Vec<NodeId> {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Running, "{id:?}");
        job.phase = JobPhase::Queued;
        if self.running_jobs.remove(job.running_job().key()).is_some() {
            for &range in &job.placement {
                self.idle.insert_range(range);
            }
            return Vec::new();
        }
        let placement = &self.jobs[id.index()].placement;
        let nodes: Vec<NodeId> = placement
            .iter()
            .flat_map(|range| range.nodes())
            .filter(|&node| self.is_shared_on(id, node))
            .collect();
        for &node in &nodes {
            self.end_task(id, node, now);
        }
        nodes
    }

    /// Forgets the attempt of a job that [`ClusterState::stop`] queued, so that it can start afresh.
    pub fn reset_attempt(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        job.start = None;
        job.placement.clear();
    }

    /// Sets the shares of a node's tasks, in order, after bringing their work up to `now`.
    /// Returns when they must be set again at the latest: a deadline passes, or a task has done
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
}

impl JobSlot {
    fn begin_attempt(&mut self, now: Instant, price: Credits) {
        self.phase = JobPhase::Running;
        self.attempt += 1;
        self.accepted.get_or_insert(Admission { at: now, price });
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

/// Nodes as ranges of neighbours, ascending.
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
