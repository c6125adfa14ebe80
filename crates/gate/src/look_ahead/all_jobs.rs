//! The future of all jobs, simulated once on a copy of the gate.

use std::collections::BTreeMap;

use tollgate_model::{Instant, JobId, NodeId, NodeSpeed, Span};
use tollgate_policy::{Effect, JobPhase, View};

use super::full_simulation::ExpectedRunTimes;
use super::trajectory::{JobTrajectory, TaskProgress};
use super::{NO_JOB, STEPS_PER_EVENT, record_rate, spend_steps};
use crate::gate::Gate;
use crate::simulation::Simulation;

/// A job that has started in the simulation.
struct StartedJob {
    start: Instant,
    /// The speed of its slowest node.
    speed: NodeSpeed,
    /// The progress of its tasks by node, if it shares its nodes.
    tasks: BTreeMap<NodeId, TaskProgress>,
}

/// The jobs that have started, by slot.
#[derive(Default)]
struct StartedJobs(BTreeMap<JobId, StartedJob>);

/// Returns the trajectories of all jobs that start within the remaining looks.
pub(super) fn trajectories(
    gate: &Gate,
    now: Instant,
    expected: &dyn Fn(JobId) -> Span,
    looks_left: &mut u64,
) -> BTreeMap<JobId, JobTrajectory> {
    if !spend_steps(looks_left, gate.n_slots() as u64) {
        return BTreeMap::new();
    }
    let run_times = ExpectedRunTimes {
        me: NO_JOB,
        expected,
    };
    let mut started = StartedJobs::default();
    let view = gate.view(now);
    let running = view
        .jobs()
        .filter(|(_, job)| job.phase == JobPhase::Running);
    for (id, job) in running {
        started.add(view, id, job.start.unwrap_or(now));
    }
    let mut n_waiting = view
        .jobs()
        .filter(|(_, job)| job.phase == JobPhase::Queued)
        .count();
    let mut simulation = Simulation::of_future(gate.fork(), now, &run_times);
    let mut at = now;
    simulation.run_pass(now);
    loop {
        while let Some(effect) = simulation.next_effect(at, &run_times) {
            let view = simulation.gate().view(at);
            match effect {
                Effect::Start { job, .. } => {
                    n_waiting -= usize::from(started.add(view, job, at)).min(n_waiting);
                }
                Effect::SharesChanged { node } => started.note_rates(view, node),
                Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Notify { .. }
                | Effect::Closed { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
        if n_waiting == 0 && !started.any_shares() {
            break;
        }
        let next = simulation.next_event().map(|next| next.max(at));
        // An event beyond the range of time does not happen.
        let Some(next) = next.filter(|next| *next < Instant::MAX) else {
            break;
        };
        let looks = STEPS_PER_EVENT + simulation.gate().pass_cost(at) as u64;
        if !spend_steps(looks_left, looks) {
            break;
        }
        at = next;
        simulation.step(at, &run_times);
    }
    started.into_trajectories(now)
}

impl StartedJobs {
    /// Adds a job that starts; returns false if it has started before.
    fn add(&mut self, view: View<'_>, id: JobId, start: Instant) -> bool {
        let Some(job) = view.find_job(id).filter(|_| !self.0.contains_key(&id)) else {
            return false;
        };
        let nodes = job.placement().iter().flat_map(|range| range.nodes());
        let shared = nodes.filter(|&node| view.is_shared_on(id, node));
        let tasks = shared.map(|node| {
            let mut progress = TaskProgress::default();
            record_rate(&mut progress, view.node(node), id);
            (node, progress)
        });
        let started = StartedJob {
            start,
            speed: view.speed_of_job(id),
            tasks: tasks.collect(),
        };
        self.0.insert(id, started);
        true
    }

    /// Records the rates of the tasks on a node whose shares were just set.
    fn note_rates(&mut self, view: View<'_>, node: NodeId) {
        let lead = view.node(node);
        for task in lead.tasks() {
            let job = self.0.get_mut(&task.job);
            let of_job = job.into_iter().flat_map(|job| &mut job.tasks);
            for (_, progress) in of_job.filter(|(of, _)| view.lead_of(**of) == node) {
                record_rate(progress, lead, task.job);
            }
        }
    }

    fn any_shares(&self) -> bool {
        self.0.values().any(|job| !job.tasks.is_empty())
    }

    fn into_trajectories(self, from: Instant) -> BTreeMap<JobId, JobTrajectory> {
        let all = self.0.into_iter().map(|(id, job)| {
            if job.tasks.is_empty() {
                return (id, JobTrajectory::exclusive(job.start, job.speed, from));
            }
            let tasks = job.tasks.into_values().map(|mut task| {
                task.known_until(Instant::MAX);
                task
            });
            let tasks = tasks.collect();
            (id, JobTrajectory::shared(job.start, from, tasks))
        });
        all.collect()
    }
}
