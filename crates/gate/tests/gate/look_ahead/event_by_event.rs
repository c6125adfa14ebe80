//! The reference look-ahead: on a copy of the gate, event by event, with each event found by asking
//! every job and every task for its end.

use std::collections::BTreeMap;

use tollgate_gate::{Effect, Gate, GateInput, JobEnding};
use tollgate_model::{Instant, JobId, NodeId, Span};
use tollgate_policy::JobPhase;

/// The start and finish of a job; None for a time that never comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobTimes {
    pub(crate) start: Option<Instant>,
    pub(crate) finish: Option<Instant>,
}

pub(crate) struct EventByEvent {
    gate: Gate,
    now: Instant,
    effects: Vec<Effect>,
    times: BTreeMap<JobId, JobTimes>,
}

const MAX_EVENTS: usize = 10_000;

impl EventByEvent {
    /// Creates a future that begins at `now` with this copy of a gate.
    pub(crate) fn new(gate: Gate, now: Instant) -> Self {
        let view = gate.view(now);
        let running = view
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let times = running.map(|(id, job)| {
            let times = JobTimes {
                start: job.start,
                finish: None,
            };
            (id, times)
        });
        Self {
            times: times.collect(),
            gate,
            now,
            effects: Vec::new(),
        }
    }

    /// Runs until `job` has finished or no event is left; `work` returns the run time of each job.
    pub(crate) fn run_until(mut self, job: JobId, work: impl Fn(JobId) -> Span) -> JobTimes {
        self.run_pass();
        for _ in 0..MAX_EVENTS {
            let over = self.of(job).finish.is_some() || self.is_lost(job);
            if over || !self.advance(&work) {
                return self.of(job);
            }
        }
        panic!("{job:?} is not over after {MAX_EVENTS} events")
    }

    fn of(&self, job: JobId) -> JobTimes {
        self.times.get(&job).copied().unwrap_or_default()
    }

    fn is_lost(&self, job: JobId) -> bool {
        let view = self.gate.view(self.now);
        view.find_job(job)
            .is_none_or(|job| matches!(job.phase, JobPhase::Closed | JobPhase::Vacant))
    }

    fn advance(&mut self, work: &impl Fn(JobId) -> Span) -> bool {
        let end = self.next_end(work);
        let wake = self.gate.next_wake();
        let next = end.map(|(at, _)| at).into_iter().chain(wake).min();
        let Some(at) = next.filter(|&at| at < Instant::MAX) else {
            return false;
        };
        self.now = self.now.max(at);
        let input = end.filter(|&(due, _)| due <= at).map(|(_, ended)| ended);
        let input = input.unwrap_or(GateInput::Tick);
        let _ = self.gate.handle(self.now, input, &mut self.effects);
        self.run_pass();
        true
    }

    fn run_pass(&mut self) {
        self.record_times();
        self.gate.run_pass(self.now, &mut self.effects);
        self.record_times();
    }

    fn record_times(&mut self) {
        for effect in self.effects.drain(..) {
            if let Effect::Start { job, .. } = effect {
                self.times.entry(job).or_default().start = Some(self.now);
            }
            if let Effect::Closed {
                job,
                ending: JobEnding::Finished,
            } = effect
            {
                self.times.entry(job).or_default().finish = Some(self.now);
            }
        }
    }

    fn next_end(&self, work: &impl Fn(JobId) -> Span) -> Option<(Instant, GateInput)> {
        let view = self.gate.view(self.now);
        let whole = view
            .jobs()
            .filter(|(id, job)| job.phase == JobPhase::Running && !self.is_shared(*id));
        let whole = whole.filter_map(|(id, job)| {
            let nodes = job.placement().iter().flat_map(|range| range.nodes());
            let speeds = nodes.map(|node| view.node(node).speed().as_f64());
            let slowest = speeds.fold(f64::INFINITY, f64::min);
            let run_time = Span::from_secs_f64(work(id).as_secs_f64() / slowest);
            let end = (job.start? + run_time).max(self.now);
            let attempt = job.attempt;
            Some((end, GateInput::Ended { job: id, attempt }))
        });
        let tasks = (0..view.n_nodes()).map(NodeId).flat_map(|id| {
            let node = view.node(id);
            let now = self.now;
            node.tasks().iter().map(move |task| {
                let run_time_s = work(task.job).as_secs_f64() / node.speed().as_f64();
                let left = run_time_s - node.work_at(task, now);
                let end = now + Span::ceil_secs_f64(left.max(0.0) / task.rate);
                let ended = GateInput::TaskEnded {
                    job: task.job,
                    attempt: view.job(task.job).attempt,
                    node: id,
                };
                (end, ended)
            })
        });
        whole.chain(tasks).min_by_key(|(end, _)| *end)
    }

    fn is_shared(&self, id: JobId) -> bool {
        let view = self.gate.view(self.now);
        let mut nodes = view
            .job(id)
            .placement()
            .iter()
            .flat_map(|range| range.nodes());
        nodes.any(|node| !view.node(node).tasks().is_empty())
    }
}
