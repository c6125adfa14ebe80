//! What will become of a job if nothing arrives, nothing vanishes, and every other job takes as long
//! as is expected of it.
//!
//! How a job gets on never depends on how long it takes itself, which nobody knows before its end.
//! So one run through the future, in which the job never ends, says when it finishes for
//! every run time there is: its [`JobTrajectory`]. Tasks of a job that end before the others keep their nodes
//! until then, as one process does.
//!
//! | module | what it holds |
//! |---|---|
//! | `course` | when a job starts, and how its work gets on |
//! | `nodes` | the future of the nodes that a job runs on, where nothing else matters to it |
//! | `whole` | the future of everything, on a copy of the gate |

mod full_simulation;
mod per_node;
mod trajectory;

use tollgate_model::{Distribution, Instant, JobId, JobSpec, NodeId, Span};
use tollgate_policy::{AdmissionDecision, JobPhase, Node, ProbeScratch};

use crate::gate::Gate;
use full_simulation::FullSimulation;
use per_node::NodeTrajectory;
use trajectory::TaskProgress;
pub use trajectory::{JobTrajectory, LookAheadHorizon};

/// What is looked at, event by event, is counted in looks at a job or a node; besides, each event
/// counts as so many of them, which is about what it takes.
const STEPS_PER_EVENT: u64 = 64;

/// Which job is looked at.
#[derive(Clone, Copy, Debug)]
pub enum LookAheadSubject<'a> {
    /// One that is handed in now, and what is forecast of it.
    New(&'a JobSpec, Option<&'a Distribution>),
    /// One that is there.
    Existing(JobId),
}

/// Looks ahead from one instant, for one job or for several that are weighed against each other,
/// and never takes longer over it than it may.
pub struct LookAhead<'a> {
    gate: &'a Gate,
    now: Instant,
    /// How long each job takes in all, alone on its nodes; one that has done more than that
    /// already ends next.
    expected: &'a dyn Fn(JobId) -> Span,
    scratch: ProbeScratch,
    steps_left: u64,
}

/// The slot of a job that is not there.
const NO_JOB: JobId = JobId(u32::MAX);

impl<'a> LookAhead<'a> {
    /// From `now` on, with at most `looks` looks at a job or a node. `expected` says how long each
    /// job that is there takes in all, alone on its nodes.
    pub fn new(
        gate: &'a Gate,
        now: Instant,
        expected: &'a dyn Fn(JobId) -> Span,
        looks: u64,
    ) -> Self {
        Self {
            gate,
            now,
            expected,
            scratch: ProbeScratch::default(),
            steps_left: looks,
        }
    }

    /// How many looks are left; none if it was cut short, and may have seen too little.
    pub fn steps_left(&self) -> u64 {
        self.steps_left
    }

    /// When the job starts and how it gets on, as far as the horizon. None if it is not let in, or
    /// does not start within the looks that are left.
    pub fn trajectory(
        &mut self,
        whom: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        match whom {
            LookAheadSubject::Existing(job) => self.trajectory_of_existing(job, horizon),
            LookAheadSubject::New(spec, forecast) => {
                self.trajectory_of_new(spec, forecast, horizon)
            }
        }
    }

    fn trajectory_of_existing(
        &mut self,
        id: JobId,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        let view = self.gate.view(self.now);
        let job = view.find_job(id)?;
        let Some(start) = job.start.filter(|_| job.phase == JobPhase::Running) else {
            return self.simulate_copy(LookAheadSubject::Existing(id), horizon);
        };
        let all = job.placement().iter().flat_map(|range| range.nodes());
        let nodes: Vec<NodeId> = all.filter(|&node| view.is_shared_on(id, node)).collect();
        if nodes.is_empty() {
            return Some(JobTrajectory::exclusive(start, self.now));
        }
        let Some(sharing) = self.gate.node_sharing(&job.spec.sla) else {
            return self.simulate_copy(LookAheadSubject::Existing(id), horizon);
        };
        let known = |job| (&view.job(job).spec, view.forecast(job));
        let mut tasks = Vec::with_capacity(nodes.len());
        for node in nodes {
            let alarm = self.gate.alarm(node);
            let ahead = self.node_ahead(view.node(node).clone(), id, alarm);
            tasks.push(ahead.follow(sharing, &known, horizon, &mut self.steps_left));
        }
        Some(JobTrajectory::shared(start, self.now, tasks))
    }

    fn trajectory_of_new(
        &mut self,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        let verdict = self.gate.quote(self.now, spec, forecast, &mut self.scratch);
        let starts = match verdict {
            AdmissionDecision::Reject(_) => return None,
            AdmissionDecision::Queue | AdmissionDecision::Promise { .. } => false,
            AdmissionDecision::Run { .. } => true,
        };
        let sharing = self.gate.node_sharing(&spec.sla).filter(|_| starts);
        let Some(sharing) = sharing else {
            return self.simulate_copy(LookAheadSubject::New(spec, forecast), horizon);
        };
        let view = self.gate.view(self.now);
        let known = |job| match job {
            NO_JOB => (spec, forecast),
            job => (&view.job(job).spec, view.forecast(job)),
        };
        let nodes = std::mem::take(&mut self.scratch.nodes);
        let mut tasks = Vec::with_capacity(nodes.len());
        for &id in &nodes {
            let mut node = view.node(id).clone();
            node.add_task(NO_JOB, spec, self.now);
            let alarm = sharing.set_shares(&mut node, self.now, &known);
            let ahead = self.node_ahead(node, NO_JOB, alarm);
            tasks.push(ahead.follow(sharing, &known, horizon, &mut self.steps_left));
        }
        self.scratch.nodes = nodes;
        Some(JobTrajectory::shared(self.now, self.now, tasks))
    }

    /// A node on which the job in slot `me` has a task.
    fn node_ahead(&self, node: Node, me: JobId, alarm: Option<Instant>) -> NodeTrajectory {
        NodeTrajectory::new(node, me, self.now, alarm, self.expected)
    }

    fn simulate_copy(
        &mut self,
        whom: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        let whole = FullSimulation::new(
            self.gate,
            self.now,
            whom,
            self.expected,
            &mut self.steps_left,
        )?;
        whole.follow(horizon)
    }
}

/// When a task ends on a node that it shares, if it takes `work_s` seconds of work in all and its
/// rate stays what it is; not before `now`.
fn end_of(node: &Node, task: &tollgate_policy::NodeTask, work_s: f64, now: Instant) -> Instant {
    let left_s = f64::max(work_s - task.work, 0.0);
    (node.since() + Span::ceil_secs_f64(left_s / task.rate)).max(now)
}

/// Takes `looks` from those that are left; false if there are not so many.
fn spend_steps(looks_left: &mut u64, looks: u64) -> bool {
    let left = looks_left.checked_sub(looks);
    *looks_left = left.unwrap_or(0);
    left.is_some()
}

/// How the task of a job gets on, on a node that was just shared out.
fn record_rate(progress: &mut TaskProgress, node: &Node, me: JobId) {
    if let Some(task) = node.tasks().iter().find(|task| task.job == me) {
        progress.push(node.since(), task.work, task.rate);
    }
}
