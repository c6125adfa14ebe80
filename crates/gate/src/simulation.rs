//! A gate in simulated time: jobs end after the run times that the owner of the simulation gives.
//!
//! At one instant whole jobs end first, then tasks on shared nodes, those of the first node first,
//! then the gate's own alarms fire. The order of completions of one kind depends on the origin of
//! the run times:
//!
//! | | true run times: [`Simulation::new`] | predicted ones: [`Simulation::of_future`] |
//! |---|---|---|
//! | jobs that end at once | by submission | by slot |
//! | tasks of a node that end at once | by submission | by arrival at the node |
//! | a task a microsecond from its end | has ended, as for [`Gate`] | ends a microsecond later |

mod job_end;
mod run_times;
#[cfg(test)]
mod tests;

use self::job_end::{JobEnd, RunTimeOrigin};
pub use self::run_times::RunTimes;
use std::collections::BTreeMap;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tollgate_model::{
    HostNameIndex, Instant, JobId, JobSpec, MaintenanceCalendar, NodeId, NodeRange, ResourceCounts,
    ResourceIndex, Span, UserId,
};
use tollgate_policy::{Effect, ExpectedHosts, JobPhase, TimerTree, View};

use crate::gate::Gate;
use crate::input::{GateInput, InputAck, InputError};
use crate::snapshot::GateSnapshot;

/// A gate whose jobs end after given run times, event by event.
///
/// A call to the gate leaves its effects here. The owner takes them one by one with
/// [`Simulation::next_effect`], all of them before it asks for the next event. Arrivals and
/// all other inputs besides completions are the owner's.
///
/// # Examples
/// Three jobs on four nodes. With EASY the last one, which is short and narrow, starts before the
/// second:
/// ```
/// use tollgate_gate::{Effect, Gate, GateInput, OnEviction, Simulation, WorkerId};
/// use tollgate_model::{Instant, JobId, JobSpec, Market, Sla, Span, UserId};
/// use tollgate_policies::builtin_registry;
///
/// let policy = builtin_registry().named("easy").expect("a registered policy");
/// let mut simulation = Simulation::new(Gate::new(policy.build(Market::None), Market::None));
/// let nodes = GateInput::WorkerUp { worker: WorkerId(0), incarnation: 1, nodes: 4, memory: None, terms: Default::default(), in_use: None };
/// simulation.handle(Instant::ZERO, nodes).expect("a new worker");
/// // The processors and the run time in seconds of each job; the users estimate twice as much.
/// let jobs = [(3, 50), (4, 10), (1, 40)];
/// for (procs, run_time_s) in jobs {
///     let job = GateInput::Submitted {
///         spec: JobSpec {
///             submit: Instant::ZERO,
///             estimate: Span::from_secs(2 * run_time_s),
///             procs,
///             memory: 0,
///             needs: Default::default(),
///             restarts: 0,
///             user: UserId(0),
///             sla: Sla::default(),
///         },
///         on_eviction: OnEviction::Fail,
///         forecast: None,
///     };
///     simulation.handle(Instant::ZERO, job).expect("a well-formed job");
/// }
/// simulation.run_pass(Instant::ZERO);
///
/// let run_times = |job: JobId| Span::from_secs(jobs[job.index()].1);
/// let (mut now, mut starts) = (Instant::ZERO, Vec::new());
/// loop {
///     while let Some(effect) = simulation.next_effect(now, &run_times) {
///         if let Effect::Start { job, .. } = effect {
///             starts.push((job, now));
///         }
///     }
///     let Some(next) = simulation.next_event() else { break };
///     now = next;
///     simulation.step(now, &run_times);
/// }
/// let at = |secs| Instant::ZERO + Span::from_secs(secs);
/// assert_eq!(starts, [(JobId(0), at(0)), (JobId(2), at(0)), (JobId(1), at(50))]);
/// ```
#[derive(Debug)]
pub struct Simulation {
    gate: Gate,
    origin: RunTimeOrigin,
    effects: Vec<Effect>,
    /// Number of effects that the owner has taken.
    n_taken: usize,
    /// The ends of the running jobs that have their nodes to themselves.
    job_ends: BinaryHeap<Reverse<JobEnd>>,
    /// By node: the end of the first of the tasks that share it.
    node_ends: TimerTree,
}

impl Simulation {
    /// Creates a simulation of a world that knows the true run times. The gate has no jobs yet.
    pub fn new(gate: Gate) -> Self {
        Self {
            gate,
            origin: RunTimeOrigin::Truth,
            effects: Vec::new(),
            n_taken: 0,
            job_ends: BinaryHeap::new(),
            node_ends: TimerTree::default(),
        }
    }

    /// Creates a simulation of the future of a gate, from `now` on, with predicted run times.
    pub fn of_future(gate: Gate, now: Instant, run_times: &dyn RunTimes) -> Self {
        let mut simulation = Self {
            origin: RunTimeOrigin::Prediction,
            ..Self::new(gate)
        };
        let view = simulation.gate.view(now);
        let running = view
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let alone = running.filter(|&(id, _)| !is_shared(view, id));
        let ends = alone.filter_map(|(id, _)| simulation.job_end(now, id, run_times));
        simulation.job_ends = ends.map(Reverse).collect();
        simulation.node_ends.grow(view.n_nodes() as usize);
        simulation.schedule_nodes(now, run_times);
        simulation
    }

    /// Returns the gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the complete state of the gate, as [`Gate::save`] does.
    pub fn save(&mut self, now: Instant) -> GateSnapshot {
        self.gate.save(now)
    }

    /// Sets the times in which no job runs; see [`Gate::set_maintenance`].
    pub fn set_maintenance(&mut self, now: Instant, calendar: MaintenanceCalendar) {
        self.gate.set_maintenance(now, calendar);
    }

    /// Sets the hosts that are expected at a site; see [`Gate::expect_hosts`].
    pub fn expect_hosts(
        &mut self,
        now: Instant,
        site: &str,
        expected: (ExpectedHosts, &[HostNameIndex]),
    ) {
        self.gate.expect_hosts(now, site, expected);
    }

    /// Sets the weights of users in the fair order; see [`Gate::set_user_weights`].
    pub fn set_user_weights(&mut self, now: Instant, weights: BTreeMap<UserId, f64>) {
        self.gate.set_user_weights(now, weights);
    }

    /// Records that a user asks for a number of jobs like this one; see [`Gate::note_request`].
    pub fn note_request(&mut self, now: Instant, spec: &JobSpec, count: u64) {
        self.gate.note_request(now, spec, count);
    }

    /// Sets the licences of the site; see [`Gate::set_licences`].
    pub fn set_licences(&mut self, now: Instant, known: Vec<ResourceIndex>, total: ResourceCounts) {
        self.gate.set_licences(now, known, total);
    }

    /// Handles an input of the owner. `now` never goes back.
    ///
    /// # Errors
    /// As [`Gate::handle`].
    #[inline]
    pub fn handle(&mut self, now: Instant, input: GateInput) -> Result<InputAck, InputError> {
        let may_stop = match input {
            GateInput::Ended { .. }
            | GateInput::Evicted { .. }
            | GateInput::Abandoned { .. }
            | GateInput::Withdrawn { .. }
            | GateInput::WorkerLost { .. }
            | GateInput::Drain { .. }
            | GateInput::WorkerInUse { .. }
            | GateInput::Cancel { .. } => true,
            GateInput::Submitted { .. }
            | GateInput::SubmittedArray { .. }
            | GateInput::ProgramStarted { .. }
            | GateInput::TaskEnded { .. }
            | GateInput::WorkerUp { .. }
            | GateInput::WorkerCloses { .. }
            | GateInput::WorkerSlowed { .. }
            | GateInput::Split { .. }
            | GateInput::Shrink { .. }
            | GateInput::Hold { .. }
            | GateInput::Release { .. }
            | GateInput::Reforecast { .. }
            | GateInput::Tick => false,
        };
        let ack = self.gate.handle(now, input, &mut self.effects);
        if let Ok(InputAck::Nodes(_)) = ack {
            let n_nodes = self.gate.view(now).n_nodes();
            self.node_ends.grow(n_nodes as usize);
        }
        if may_stop {
            self.drop_stopped_jobs(now);
        }
        ack
    }

    /// Runs one scheduling pass of the gate.
    pub fn run_pass(&mut self, now: Instant) {
        self.gate.run_pass(now, &mut self.effects);
    }

    /// Returns the next effect of the gate, after everything that the effect starts was scheduled.
    /// None if the owner has taken all.
    #[inline]
    pub fn next_effect(&mut self, now: Instant, run_times: &dyn RunTimes) -> Option<Effect> {
        let Some(&effect) = self.effects.get(self.n_taken) else {
            self.effects.clear();
            self.n_taken = 0;
            return None;
        };
        self.n_taken += 1;
        match effect {
            Effect::Start { job, .. } => self.schedule_job(now, job, run_times),
            Effect::SharesChanged { node } => self.schedule_node(now, node, run_times),
            Effect::GroupParted { from, to } => self.part_group(now, from, to, run_times),
            Effect::Notify { .. }
            | Effect::Split { .. }
            | Effect::Kill { .. }
            | Effect::Book { .. }
            | Effect::Closed { .. } => {}
        }
        Some(effect)
    }

    /// Returns the time of the next completion.
    #[inline]
    pub fn next_completion(&self) -> Option<Instant> {
        debug_assert!(self.effects.is_empty(), "effects were left");
        let job = self.job_ends.peek().map(|Reverse(end)| end.at);
        job.into_iter().chain(self.node_ends.next()).min()
    }

    /// Returns the time of the next completion or alarm of the gate.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        let wake = self.gate.next_wake();
        self.next_completion().into_iter().chain(wake).min()
    }

    /// Handles the first event, which is due at `now`: a completion, or else the gate's alarm.
    /// Then runs a pass.
    pub fn step(&mut self, now: Instant, run_times: &dyn RunTimes) {
        let (end, wake) = (self.next_completion(), self.gate.next_wake());
        if wake.is_some_and(|wake| end.is_none_or(|end| wake < end)) {
            let ticked = self.handle(now, GateInput::Tick);
            debug_assert!(ticked.is_ok(), "a tick is never stale: {ticked:?}");
        } else {
            self.complete_next(now, run_times);
        }
        self.run_pass(now);
    }

    /// Reports the next completion that is due at `now` to the gate, and returns its job. None if
    /// no completion is due.
    pub fn complete_next(&mut self, now: Instant, run_times: &dyn RunTimes) -> Option<JobId> {
        debug_assert!(self.effects.is_empty(), "effects were left");
        let (job, input) = match self.pop_job_end(now) {
            Some(JobEnd { job, attempt, .. }) => (job, GateInput::Ended { job, attempt }),
            None => self.first_ended_task(now, run_times)?,
        };
        let ack = self.gate.handle(now, input, &mut self.effects);
        debug_assert!(ack.is_ok(), "a scheduled attempt is running: {ack:?}");
        Some(job)
    }

    /// Computes all ends anew, because run times have changed. A job that never ends stays so.
    pub fn reschedule(&mut self, now: Instant, run_times: &dyn RunTimes) {
        let mut ends = std::mem::take(&mut self.job_ends).into_vec();
        ends.retain_mut(|Reverse(end)| {
            let later = self.job_end(now, end.job, run_times);
            later.inspect(|later| *end = *later).is_some()
        });
        self.job_ends = BinaryHeap::from(ends);
        self.schedule_nodes(now, run_times);
    }

    fn schedule_nodes(&mut self, now: Instant, run_times: &dyn RunTimes) {
        for id in (0..self.gate.view(now).n_nodes()).map(NodeId) {
            let view = self.gate.view(now);
            if view.lead_of(id) == id && !view.node(id).tasks().is_empty() {
                self.schedule_node(now, id, run_times);
            }
        }
    }

    /// Schedules the end of a job that just started, if it has its nodes to itself: the tasks of
    /// other jobs are scheduled node by node.
    fn schedule_job(&mut self, now: Instant, id: JobId, run_times: &dyn RunTimes) {
        let view = self.gate.view(now);
        let first = view.job(id).placement().first();
        let is_alone = |range: &NodeRange| view.node(NodeId(range.first)).tasks().is_empty();
        if first.is_some_and(is_alone)
            && let Some(end) = self.job_end(now, id, run_times)
        {
            self.job_ends.push(Reverse(end));
        }
    }

    fn job_end(&self, now: Instant, id: JobId, run_times: &dyn RunTimes) -> Option<JobEnd> {
        let view = self.gate.view(now);
        let job = view.job(id);
        // A job that has its nodes to itself keeps them until its slowest task has ended.
        let end = job.start? + view.speed_of_job(id).time_for(run_times.run_time(id, now)?);
        Some(JobEnd {
            at: end.max(now),
            rank: match self.origin {
                RunTimeOrigin::Truth => job.sequence,
                RunTimeOrigin::Prediction => u64::from(id.0),
            },
            job: id,
            attempt: job.attempt,
        })
    }

    fn schedule_node(&mut self, now: Instant, id: NodeId, run_times: &dyn RunTimes) {
        let view = self.gate.view(now);
        let end = run_times.first_task_end(view.node(id), now);
        self.node_ends.set(id.index(), end);
    }

    /// Schedules the first end on the nodes that were left of a group, and that go on as they were. If the end of
    /// the group was computed since the call to the gate, it may be that of its other part already.
    fn part_group(&mut self, now: Instant, from: NodeId, to: NodeId, run_times: &dyn RunTimes) {
        if is_computed_anew(&self.effects[..self.n_taken], to) {
            self.schedule_node(now, to, run_times);
        } else {
            let end = self.node_ends.at(from.index());
            self.node_ends.set(to.index(), end);
        }
    }

    fn pop_job_end(&mut self, now: Instant) -> Option<JobEnd> {
        let next = self.job_ends.peek_mut()?;
        (next.0.at <= now).then(|| PeekMut::pop(next).0)
    }

    /// Returns the first task that has ended by `now` and the report of its end. The end of a task
    /// changes the rates of the others, so tasks end one by one.
    fn first_ended_task(
        &mut self,
        now: Instant,
        run_times: &dyn RunTimes,
    ) -> Option<(JobId, GateInput)> {
        while let Some(slot) = self.node_ends.due(now + self.origin.slack()) {
            let id = NodeId(slot as u32);
            let view = self.gate.view(now);
            let node = view.node(id);
            let rank = |place: usize| match self.origin {
                RunTimeOrigin::Truth => view.job(node.tasks()[place].job).sequence,
                RunTimeOrigin::Prediction => place as u64,
            };
            if let Some(job) = run_times.first_ended_task(node, now, &rank) {
                let attempt = view.job(job).attempt;
                let input = GateInput::TaskEnded {
                    job,
                    attempt,
                    node: id,
                };
                return Some((job, input));
            }
            // The end was rounded: it comes a little later.
            let least = now + self.origin.slack() + Span::TICK;
            let end = run_times.first_task_end(node, now);
            self.node_ends.set(slot, end.map(|end| end.max(least)));
        }
        None
    }

    /// Forgets the ends of attempts that no longer run.
    fn drop_stopped_jobs(&mut self, now: Instant) {
        let view = self.gate.view(now);
        self.job_ends.retain(|Reverse(end)| {
            let job = view.job(end.job);
            job.phase == JobPhase::Running && job.attempt == end.attempt
        });
    }
}

/// Returns whether these effects of one call to the gate had the first end on a node computed. That is so if
/// its shares changed, or if it was parted from a node for which that holds.
fn is_computed_anew(effects: &[Effect], mut node: NodeId) -> bool {
    for &effect in effects.iter().rev() {
        if effect == (Effect::SharesChanged { node }) {
            return true;
        }
        if let Effect::GroupParted { from, to } = effect
            && to == node
        {
            node = from;
        }
    }
    false
}

/// Returns whether a running job shares its nodes: a job that has its nodes to itself puts no task
/// on them.
fn is_shared(view: View<'_>, id: JobId) -> bool {
    let ranges = view.job(id).placement().iter();
    let mut nodes = ranges.flat_map(|range| range.nodes());
    nodes.any(|node| !view.node(node).tasks().is_empty())
}
