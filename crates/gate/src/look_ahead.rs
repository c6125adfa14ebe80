//! Prediction of a job's future on these assumptions: no job arrives, no worker vanishes, and every
//! other job takes its expected run time.
//!
//! The progress of a job never depends on its own run time, which is unknown before its end. So one
//! run through the future, in which the job never ends, gives its finish for every possible run
//! time: the [`JobTrajectory`]. Tasks of a job that end before the others keep their nodes until
//! then, as one process does.
//!
//! | module | contents |
//! |---|---|
//! | `trajectory` | the start of a job and the progress of its work |
//! | `per_node` | the future of a job's nodes, where nothing else affects the job |
//! | `full_simulation` | the future of all jobs, on a copy of the gate, for one that never ends |
//! | `all_jobs` | the same for each of them |

mod all_jobs;
mod full_simulation;
mod per_node;
mod trajectory;

use std::collections::BTreeMap;

use tollgate_model::{Distribution, Instant, JobId, JobSpec, NodeId, Span};
use tollgate_policy::{AdmissionDecision, JobPhase, Node, ProbeScratch};

use crate::gate::Gate;
use full_simulation::FullSimulation;
use per_node::NodeTrajectory;
use trajectory::TaskProgress;
pub use trajectory::{JobTrajectory, LookAheadHorizon};

/// The budget in looks at a job or a node that each event costs, besides the looks that it needs.
/// This cost is about the time that an event takes.
const STEPS_PER_EVENT: u64 = 64;

/// The job that a look-ahead is about.
#[derive(Clone, Copy, Debug)]
pub enum LookAheadSubject<'a> {
    /// A job that is submitted now, with its forecast.
    New(&'a JobSpec, Option<&'a Distribution>),
    /// A job that the gate already has.
    Existing(JobId),
}

/// A look-ahead from one instant, for one job or for several that are compared. It never exceeds
/// its budget.
pub struct LookAhead<'a> {
    gate: &'a Gate,
    now: Instant,
    /// The total run time of each job, alone on the slowest nodes. A job that has already done more
    /// than that ends next.
    expected: &'a dyn Fn(JobId) -> Span,
    scratch: ProbeScratch,
    steps_left: u64,
}

/// The slot of an absent job.
const NO_JOB: JobId = JobId(u32::MAX);

impl<'a> LookAhead<'a> {
    /// Creates a look-ahead from `now` with at most `looks` looks at a job or a node. `expected`
    /// returns the total run time of each known job, alone on the slowest nodes.
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

    /// Returns the number of looks left; 0 if the look-ahead was cut short and may be incomplete.
    pub fn steps_left(&self) -> u64 {
        self.steps_left
    }

    /// Returns the start and progress of the job, up to the horizon. None if the job is not
    /// admitted, or does not start within the remaining looks.
    pub fn trajectory(
        &mut self,
        subject: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        match subject {
            LookAheadSubject::Existing(job) => self.trajectory_of_existing(job, horizon),
            LookAheadSubject::New(spec, forecast) => {
                self.trajectory_of_new(spec, forecast, horizon)
            }
        }
    }

    /// Returns the start and progress of every job that runs or waits, from one future in which each takes its expected
    /// run time. A job that shares nodes goes on at its last pace once it has taken as long. A job that does not start
    /// within the remaining looks has none.
    pub fn trajectories(&mut self) -> BTreeMap<JobId, JobTrajectory> {
        all_jobs::trajectories(self.gate, self.now, self.expected, &mut self.steps_left)
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
            let speed = view.speed_of_job(id);
            return Some(JobTrajectory::exclusive(start, speed, self.now));
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
            AdmissionDecision::Queue
            | AdmissionDecision::Unpromised(_)
            | AdmissionDecision::Waitlist { .. }
            | AdmissionDecision::Promise { .. } => false,
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

    /// Returns the future of a node on which the job in slot `me` has a task.
    fn node_ahead(&self, node: Node, me: JobId, alarm: Option<Instant>) -> NodeTrajectory {
        NodeTrajectory::new(node, me, self.now, alarm, self.expected)
    }

    fn simulate_copy(
        &mut self,
        subject: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Option<JobTrajectory> {
        let whole = FullSimulation::new(
            self.gate,
            self.now,
            subject,
            self.expected,
            &mut self.steps_left,
        )?;
        whole.follow(horizon)
    }
}

/// Returns the end of a task on a node that it shares, not before `now`. The task takes `run_time_s`
/// seconds on the slowest node in all and keeps its present rate.
fn end_of(node: &Node, task: &tollgate_policy::NodeTask, run_time_s: f64, now: Instant) -> Instant {
    let left_s = f64::max(run_time_s / node.speed().as_f64() - task.work, 0.0);
    (node.since() + Span::ceil_secs_f64(left_s / task.rate)).max(now)
}

/// Deducts `looks` from the remaining looks; returns false if too few remain.
fn spend_steps(looks_left: &mut u64, looks: u64) -> bool {
    let left = looks_left.checked_sub(looks);
    *looks_left = left.unwrap_or(0);
    left.is_some()
}

/// Records the progress of a job's task on a node whose shares were just set, in seconds of work on the
/// slowest node.
fn record_rate(progress: &mut TaskProgress, node: &Node, me: JobId) {
    if let Some(task) = node.tasks().iter().find(|task| task.job == me) {
        let speed = node.speed().as_f64();
        progress.push(node.since(), task.work * speed, task.rate * speed);
    }
}
