//! The future of all jobs, simulated on a copy of the gate.

use tollgate_model::{Instant, JobId, NodeId, Span};
use tollgate_policy::{Effect, JobPhase, Node, NodeTask};

use super::trajectory::{JobTrajectory, LookAheadHorizon, TaskProgress};
use super::{LookAheadSubject, STEPS_PER_EVENT, end_of, record_rate, spend_steps};
use crate::gate::Gate;
use crate::input::{GateInput, InputAck, OnEviction};
use crate::simulation::{RunTimes, Simulation};

/// A copy of the gate that moves into the future, in which one job never ends.
pub(super) struct FullSimulation<'a> {
    simulation: Simulation,
    run_times: ExpectedRunTimes<'a>,
    /// The present, at which the look-ahead starts.
    from: Instant,
    /// The time that the simulation has reached.
    now: Instant,
    steps_left: &'a mut u64,
    /// The progress of the job's tasks, once it runs on nodes that it shares.
    tasks: Vec<(NodeId, TaskProgress)>,
}

/// The expected run times of all jobs but one, which never ends.
pub(super) struct ExpectedRunTimes<'a> {
    /// The one that never ends.
    pub(super) me: JobId,
    pub(super) expected: &'a dyn Fn(JobId) -> Span,
}

impl RunTimes for ExpectedRunTimes<'_> {
    fn run_time(&self, job: JobId, _: Instant) -> Option<Span> {
        (job != self.me).then(|| (self.expected)(job))
    }

    fn has_ended(&self, node: &Node, task: &NodeTask, now: Instant) -> bool {
        self.task_end(node, task, now).is_some_and(|end| end <= now)
    }

    fn first_task_end(&self, node: &Node, now: Instant) -> Option<Instant> {
        let tasks = node.tasks().iter();
        tasks
            .filter_map(|task| self.task_end(node, task, now))
            .min()
    }
}

impl ExpectedRunTimes<'_> {
    /// Returns the end of a task, rounded as in the future of a single node, so that both kinds of
    /// look-ahead agree.
    fn task_end(&self, node: &Node, task: &NodeTask, now: Instant) -> Option<Instant> {
        let work_s = self.run_time(task.job, now)?.as_secs_f64();
        Some(end_of(node, task, work_s, now))
    }
}

impl<'a> FullSimulation<'a> {
    /// Creates the simulation. None if the job is malformed, or if the copy alone would exceed the
    /// budget.
    pub(super) fn new(
        gate: &Gate,
        now: Instant,
        subject: LookAheadSubject<'_>,
        expected: &'a dyn Fn(JobId) -> Span,
        looks_left: &'a mut u64,
    ) -> Option<Self> {
        if !spend_steps(looks_left, gate.n_slots() as u64) {
            return None;
        }
        let mut gate = gate.fork();
        let me = match subject {
            LookAheadSubject::Existing(job) => job,
            LookAheadSubject::New(&spec, forecast) => {
                let submitted = GateInput::Submitted {
                    spec,
                    on_eviction: OnEviction::Fail,
                    forecast: forecast.copied().map(Into::into),
                };
                // The simulation begins with the state after the submission, which contains its
                // effects.
                match gate.handle(now, submitted, &mut Vec::new()) {
                    Ok(InputAck::Job(job)) => job,
                    Ok(_) | Err(_) => return None,
                }
            }
        };
        let run_times = ExpectedRunTimes { me, expected };
        let mut whole = Self {
            simulation: Simulation::of_future(gate, now, &run_times),
            run_times,
            from: now,
            now,
            steps_left: looks_left,
            tasks: Vec::new(),
        };
        whole.track_tasks();
        Some(whole)
    }

    /// Runs until the job has its nodes to itself, or up to the horizon or the end of the remaining
    /// looks.
    pub(super) fn follow(mut self, horizon: &LookAheadHorizon) -> Option<JobTrajectory> {
        self.simulation.run_pass(self.now);
        loop {
            self.process_effects();
            let view = self.simulation.gate().view(self.now);
            let job = view.find_job(self.run_times.me)?;
            if job.phase == JobPhase::Closed {
                return None;
            }
            let start = job.start.filter(|_| job.phase == JobPhase::Running);
            if let Some(start) = start.filter(|_| self.tasks.is_empty()) {
                let speed = view.speed_of_job(self.run_times.me);
                return Some(JobTrajectory::exclusive(start, speed, self.from));
            }
            let next = self.simulation.next_event();
            let at = next.map_or(Instant::MAX, |at| at.max(self.now));
            // An event beyond the range of time does not happen.
            if let Some(start) = start
                && (at == Instant::MAX || self.is_reached(horizon, at))
            {
                return Some(self.into_trajectory(start, at));
            }
            let looks = STEPS_PER_EVENT + self.simulation.gate().pass_cost(self.now) as u64;
            if at == Instant::MAX || !spend_steps(self.steps_left, looks) {
                return start.map(|start| self.into_trajectory(start, at));
            }
            self.now = at;
            self.simulation.step(at, &self.run_times);
        }
    }

    fn is_reached(&mut self, horizon: &LookAheadHorizon, at: Instant) -> bool {
        self.tasks.iter_mut().all(|(_, task)| {
            task.known_until(at);
            horizon.is_reached(at, task.work_by(at))
        })
    }

    fn into_trajectory(self, start: Instant, until: Instant) -> JobTrajectory {
        let tasks = self.tasks.into_iter().map(|(_, mut task)| {
            task.known_until(until);
            task
        });
        JobTrajectory::shared(start, self.from, tasks.collect())
    }

    fn process_effects(&mut self) {
        while let Some(effect) = self.simulation.next_effect(self.now, &self.run_times) {
            match effect {
                Effect::Start { job, .. } if job == self.run_times.me => self.track_tasks(),
                Effect::SharesChanged { node } => {
                    let view = self.simulation.gate().view(self.now);
                    let tasks = self.tasks.iter_mut();
                    for (_, progress) in tasks.filter(|(of, _)| view.lead_of(*of) == node) {
                        record_rate(progress, view.node(node), self.run_times.me);
                    }
                }
                Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Start { .. }
                | Effect::Notify { .. }
                | Effect::Closed { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
    }

    /// Records the nodes of the job's tasks, if the job runs on nodes that it shares.
    fn track_tasks(&mut self) {
        let me = self.run_times.me;
        let view = self.simulation.gate().view(self.now);
        let job = view.find_job(me);
        let ranges = job.map_or(&[][..], |job| job.placement());
        let nodes = ranges.iter().flat_map(|range| range.nodes());
        let shared = nodes.filter(|&node| view.is_shared_on(me, node));
        self.tasks = shared
            .map(|node| {
                let mut progress = TaskProgress::default();
                record_rate(&mut progress, view.node(node), me);
                (node, progress)
            })
            .collect();
    }
}
