//! The future of all jobs, simulated on a copy of the gate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_model::{Instant, JobId, NodeId, Span};
use tollgate_policy::{Effect, JobEnding, JobPhase, Notice, TimerTree};

use super::trajectory::{JobTrajectory, LookAheadHorizon, TaskProgress};
use super::{LookAheadSubject, STEPS_PER_EVENT, end_of, record_rate, spend_steps};
use crate::gate::Gate;
use crate::input::{GateInput, InputAck, OnEviction};

/// A copy of the gate that moves into the future, in which one job never ends.
pub(super) struct FullSimulation<'a> {
    gate: Gate,
    /// The present, at which the look-ahead starts.
    from: Instant,
    /// The time that the simulation has reached.
    now: Instant,
    me: JobId,
    expected: &'a dyn Fn(JobId) -> Span,
    steps_left: &'a mut u64,
    effects: Vec<Effect>,
    /// Ends of jobs that have their nodes to themselves, ties by slot.
    job_ends: BinaryHeap<Reverse<(Instant, JobId)>>,
    /// By node: the end of the first of its tasks.
    node_ends: TimerTree,
    /// The progress of the job's tasks, once it runs on nodes that it shares.
    tasks: Vec<(NodeId, TaskProgress)>,
}

/// The next event.
enum NextEvent {
    /// A job that has its nodes to itself ends.
    Job(JobId),
    /// A task on a shared node ends.
    Task(NodeId),
    /// Shares are recomputed, or a pass is due.
    Wake,
}

impl<'a> FullSimulation<'a> {
    /// Creates the simulation. None if the job is malformed, or if the copy alone would exceed the
    /// budget.
    pub(super) fn new(
        gate: &Gate,
        now: Instant,
        whom: LookAheadSubject<'_>,
        expected: &'a dyn Fn(JobId) -> Span,
        looks_left: &'a mut u64,
    ) -> Option<Self> {
        if !spend_steps(looks_left, gate.n_slots() as u64) {
            return None;
        }
        let mut gate = gate.fork();
        let mut effects = Vec::new();
        let me = match whom {
            LookAheadSubject::Existing(job) => job,
            LookAheadSubject::New(&spec, forecast) => {
                let submitted = GateInput::Submitted {
                    spec,
                    on_eviction: OnEviction::Fail,
                    forecast: forecast.copied(),
                };
                match gate.handle(now, submitted, &mut effects) {
                    Ok(InputAck::Job(job)) => job,
                    Ok(_) | Err(_) => return None,
                }
            }
        };
        let view = gate.view(now);
        let running = view
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let alone = running.filter(|&(id, _)| id != me && !is_shared(&gate, now, id));
        let ends = alone.filter_map(|(id, job)| {
            let end = job.start? + expected(id);
            Some(Reverse((end.max(now), id)))
        });
        let mut whole = Self {
            job_ends: ends.collect(),
            node_ends: TimerTree::new(view.n_nodes() as usize),
            gate,
            from: now,
            now,
            me,
            expected,
            steps_left: looks_left,
            effects,
            tasks: Vec::new(),
        };
        for node in (0..whole.gate.view(now).n_nodes()).map(NodeId) {
            whole.update_node_end(node);
        }
        // The effects of the submission are already part of the state, except for the job itself.
        whole.effects.clear();
        whole.track_tasks();
        Some(whole)
    }

    /// Runs until the job has its nodes to itself, or up to the horizon or the end of the remaining
    /// looks.
    pub(super) fn follow(mut self, horizon: &LookAheadHorizon) -> Option<JobTrajectory> {
        self.run_pass();
        loop {
            let view = self.gate.view(self.now);
            let job = view.find_job(self.me)?;
            if job.phase == JobPhase::Closed {
                return None;
            }
            let start = job.start.filter(|_| job.phase == JobPhase::Running);
            if let Some(start) = start.filter(|_| self.tasks.is_empty()) {
                return Some(JobTrajectory::exclusive(start, self.from));
            }
            let next = self.next();
            let at = next.as_ref().map_or(Instant::MAX, |&(at, _)| at);
            if let Some(start) = start
                && (at == Instant::MAX || self.is_reached(horizon, at))
            {
                return Some(self.into_trajectory(start, at));
            }
            let looks = STEPS_PER_EVENT + self.gate.pass_cost(self.now) as u64;
            match next.filter(|_| spend_steps(self.steps_left, looks)) {
                Some((at, next)) => self.advance(at, next),
                None => return start.map(|start| self.into_trajectory(start, at)),
            }
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

    /// Returns the next event and its time. At one instant ends come first, those of whole jobs
    /// before those of tasks. An event beyond the range of time does not happen.
    fn next(&self) -> Option<(Instant, NextEvent)> {
        let whole = self.job_ends.peek();
        let whole = whole.map(|&Reverse((at, job))| (at, NextEvent::Job(job)));
        let task = self.node_ends.next().and_then(|at| {
            let node = self.node_ends.due(at)?;
            Some((at, NextEvent::Task(NodeId(node as u32))))
        });
        let wake = self.gate.next_wake().map(|at| (at, NextEvent::Wake));
        let all = whole.into_iter().chain(task).chain(wake);
        let next = all.min_by_key(|&(at, _)| at)?;
        let at = next.0.max(self.now);
        (at < Instant::MAX).then_some((at, next.1))
    }

    fn advance(&mut self, at: Instant, next: NextEvent) {
        self.now = at;
        let input = match next {
            NextEvent::Wake => Some(GateInput::Tick),
            NextEvent::Job(job) => {
                self.job_ends.pop();
                let attempt = self.gate.view(at).job(job).attempt;
                Some(GateInput::Ended { job, attempt })
            }
            NextEvent::Task(node) => self.first_end(node).map(|(_, job)| {
                let attempt = self.gate.view(at).job(job).attempt;
                GateInput::TaskEnded { job, attempt, node }
            }),
        };
        if let Some(input) = input {
            // A report about a job that was just looked up in the gate is never stale.
            let _ = self.gate.handle(at, input, &mut self.effects);
        }
        self.run_pass();
    }

    fn run_pass(&mut self) {
        self.process_effects();
        self.gate.run_pass(self.now, &mut self.effects);
        self.process_effects();
    }

    fn process_effects(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Start { job, .. } if job == self.me => self.track_tasks(),
                Effect::Start { job, .. } => {
                    if !is_shared(&self.gate, self.now, job) {
                        let end = self.now + (self.expected)(job);
                        self.job_ends.push(Reverse((end, job)));
                    }
                }
                Effect::SharesChanged { node } => {
                    self.update_node_end(node);
                    let view = self.gate.view(self.now);
                    let mine = self.tasks.iter_mut().find(|(of, _)| *of == node);
                    if let Some((_, progress)) = mine {
                        record_rate(progress, view.node(node), self.me);
                    }
                }
                Effect::Notify {
                    notice: Notice::Accepted { .. } | Notice::Queued | Notice::Rejected(_),
                    ..
                }
                | Effect::Closed {
                    ending: JobEnding::Finished | JobEnding::Cancelled | JobEnding::Lost,
                    ..
                }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
        self.effects = effects;
    }

    /// Records the nodes of the job's tasks, if the job runs on nodes that it shares.
    fn track_tasks(&mut self) {
        let view = self.gate.view(self.now);
        let job = view.find_job(self.me);
        let ranges = job.map_or(&[][..], |job| job.placement());
        let nodes = ranges.iter().flat_map(|range| range.nodes());
        let shared = nodes.filter(|&node| view.is_shared_on(self.me, node));
        self.tasks = shared
            .map(|node| {
                let mut progress = TaskProgress::default();
                record_rate(&mut progress, view.node(node), self.me);
                (node, progress)
            })
            .collect();
    }

    /// Records the time at which the first task of a node ends.
    fn update_node_end(&mut self, node: NodeId) {
        let end = self.first_end(node).map(|(at, _)| at);
        self.node_ends.set(node.index(), end);
    }

    /// Returns the earliest end of a task on a node and its job; ties by order of arrival.
    fn first_end(&self, node: NodeId) -> Option<(Instant, JobId)> {
        let view = self.gate.view(self.now);
        let node = view.node(node);
        let others = node.tasks().iter().filter(|task| task.job != self.me);
        let ends = others.map(|task| {
            let work_s = (self.expected)(task.job).as_secs_f64();
            (end_of(node, task, work_s, self.now), task.job)
        });
        ends.min_by_key(|&(at, _)| at)
    }
}

/// Returns whether a running job shares its nodes: a job that has its nodes to itself puts no task
/// on them.
fn is_shared(gate: &Gate, now: Instant, id: JobId) -> bool {
    let view = gate.view(now);
    let ranges = view.job(id).placement().iter();
    let mut nodes = ranges.flat_map(|range| range.nodes());
    nodes.any(|node| view.is_shared_on(id, node))
}
