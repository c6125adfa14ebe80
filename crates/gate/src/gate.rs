//! The state machine of admission, scheduling and accounting.
//!
//! | module | contents |
//! |---|---|
//! | `submission` | submissions: the decision about a job, and its commit |
//! | `jobs` | ends, evictions and changes of jobs |
//! | `nodes` | workers that come, go and are drained, maintenance, and licences |

mod jobs;
mod nodes;
mod submission;

use std::collections::BTreeMap;

use tollgate_model::{
    Distribution, Instant, JobId, JobSpec, MachineSpeeds, Market, NodeId, PenaltyLimit,
    Probability, Sla, Span,
};
use tollgate_policy::{
    AdmissionDecision, ClusterState, Effect, InvariantViolation, NodeSharing, OutlookSubject,
    PassTrigger, Policy, PolicyAlarms, PolicyContext, PolicyFailure, PossibleRuns, ProbeScratch,
    TaskCoupling, View, WaitOrder,
};

use crate::input::{GateInput, InputAck, InputError, OnEviction, WorkerId};
use crate::snapshot::GateSnapshot;
use crate::workers::{IncarnationTable, WorkerIncarnation};

/// The state machine that decides about admission, start times, nodes and prices, and records
/// promises and earnings.
#[derive(Debug)]
pub struct Gate {
    state: ClusterState,
    policy: Box<dyn Policy>,
    market: Market,
    penalty_limit: PenaltyLimit,
    alarms: PolicyAlarms,
    workers: IncarnationTable,
    /// By slot: whether the job may be requeued.
    on_eviction: Vec<OnEviction>,
    scratch: ProbeScratch,
    /// Slots of finished jobs are recycled once their pass is done.
    pass_done: bool,
}

type Effects = Vec<Effect>;

impl Gate {
    /// Creates a gate without nodes and jobs. The policy must have been built for the same market.
    pub fn new(policy: Box<dyn Policy>, market: Market) -> Self {
        let mut state = ClusterState::default();
        if policy.follows_uses() {
            state.follow_uses();
        }
        Self {
            state,
            policy,
            market,
            penalty_limit: PenaltyLimit::UNLIMITED,
            alarms: PolicyAlarms::default(),
            workers: IncarnationTable::default(),
            on_eviction: Vec::new(),
            scratch: ProbeScratch::default(),
            pass_done: false,
        }
    }

    /// Enables the expensive invariant checks after every input; see [`Gate::check`].
    pub fn enable_checks(&mut self) {
        self.alarms.checking = true;
    }

    /// Lets the policy leave out reservations that start no job now, because the planned starts of waiting
    /// jobs will not be read. Decisions stay the same.
    pub fn omit_reservations(&mut self) {
        self.alarms.omits_reservations = true;
    }

    /// Lets nodes that hold equal tasks form groups, before nodes are added. The last node of a group then
    /// stands for all of it in [`GateInput::TaskEnded`] and [`Effect::SharesChanged`], and the numbers of a
    /// group are computed once. Decisions stay the same. Such a gate is not saved, and its nodes are not
    /// drained.
    pub fn group_nodes(&mut self) {
        self.state.group_nodes();
    }

    /// Sets the maximum number of tasks per node, at least 1; None for no limit. Jobs without a
    /// deadline queue for a place and never take the last one. Jobs with a deadline are rejected
    /// when no place is free.
    pub fn set_task_limit(&mut self, most: Option<u32>) {
        self.state.set_task_limit(most);
    }

    /// Sets whether the tasks of a job run in step on nodes that jobs share, before any job starts. They
    /// progress on their own by default.
    pub fn set_task_coupling(&mut self, coupling: TaskCoupling) {
        self.state.set_coupling(coupling);
    }

    /// Limits what delays cost the provider where users bid. There is no limit by default, and policies
    /// weigh delays as if there were none.
    pub fn set_penalty_limit(&mut self, limit: PenaltyLimit) {
        self.penalty_limit = limit;
    }

    /// Sets the work that a task loses when it resumes after it stood still, before nodes are added: the
    /// task is read back and warmed up. Not negative; none by default.
    pub fn set_preemption_cost(&mut self, cost: Span) {
        self.state.set_preemption_cost(cost);
    }

    /// Sets the speeds of the nodes relative to the slowest of them, before nodes are added. All nodes have
    /// the same speed by default.
    ///
    /// The gate takes run times, estimates and forecasts on the slowest node. A job that has its nodes to
    /// itself is planned with them wherever it runs; a task on a node that jobs share is translated to it.
    pub fn set_speeds(&mut self, speeds: MachineSpeeds) {
        self.state.set_speeds(speeds);
    }

    /// Handles an input and appends its immediate effects. `now` never goes back. The gate first
    /// updates all state that changes with time alone.
    ///
    /// # Errors
    /// If the input is stale, duplicated or malformed. Such an input changes nothing.
    pub fn handle(
        &mut self,
        now: Instant,
        input: GateInput,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        if self.pass_done {
            self.state.recycle();
            self.pass_done = false;
        }
        self.tick(now, effects);
        let answer = self.dispatch(now, &input, effects);
        self.verify(now);
        answer
    }

    /// Runs one scheduling pass: starts every job that can start.
    pub fn run_pass(&mut self, now: Instant, effects: &mut Effects) {
        self.alarms.pass = None;
        let before = effects.len();
        let mut cx = PolicyContext::new(&mut self.state, &mut self.alarms, effects, now);
        self.policy.pass(&mut cx);
        for effect in &effects[before..] {
            if let Effect::Split { group, job } = *effect {
                self.set_on_eviction(job, self.on_eviction[group.index()]);
            }
        }
        self.pass_done = true;
        self.verify(now);
    }

    /// Returns the time by which the driver must send [`GateInput::Tick`] and settle even without other
    /// inputs. It must do so because an estimate is used up, a deadline passes, or a planned start is due.
    pub fn next_wake(&self) -> Option<Instant> {
        let node = self.alarms.nodes.next();
        node.into_iter().chain(self.alarms.pass).min()
    }

    /// Returns whether shares must be recomputed at `now`. If not, [`GateInput::Tick`] changes nothing.
    pub fn is_alarm_due(&self, now: Instant) -> bool {
        let alarm = self.alarms.nodes.next();
        alarm.is_some_and(|alarm| alarm <= now + Span::TICK)
    }

    /// Returns the decision that a job with this forecast would get if it were submitted at `now`.
    /// The quote reserves nothing and changes nothing. If [`Gate::next_wake`] is due, send
    /// [`GateInput::Tick`] first: the quote uses the shares as they were last set.
    pub fn quote(
        &self,
        now: Instant,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision {
        self.policy.probe(self.view(now), spec, forecast, scratch)
    }

    /// Returns the decision that this many equal jobs would get if they were submitted together at
    /// `now`; None if the policy decides on them one by one. Changes nothing.
    pub fn quote_array(
        &self,
        now: Instant,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        count: u32,
    ) -> Option<AdmissionDecision> {
        let view = self.view(now);
        self.policy.probe_array(view, spec, forecast, count)
    }

    /// Returns from when until when some jobs would run in each of several futures; None if the policy
    /// plays none. See [`Policy::possible_runs`]. Changes nothing.
    pub fn possible_runs(
        &self,
        now: Instant,
        subject: OutlookSubject<'_>,
        least_probability: Option<Probability>,
    ) -> Option<PossibleRuns> {
        self.policy
            .possible_runs(self.view(now), subject, least_probability)
    }

    /// Returns the same of every running and waiting job; see [`Policy::possible_runs_of_all`].
    pub fn possible_runs_of_all(&self, now: Instant) -> Option<BTreeMap<JobId, PossibleRuns>> {
        self.policy.possible_runs_of_all(self.view(now))
    }

    /// Returns what stands before a waiting job, if the policy tells.
    pub fn wait_order(&self, now: Instant, job: JobId) -> Option<WaitOrder> {
        self.policy.wait_order(self.view(now), job)
    }

    /// Returns the run time that the policy plans for a job.
    pub fn planned_run(&self, now: Instant, job: JobId) -> Span {
        self.policy.planned_run(self.view(now), job)
    }

    /// Returns the jobs and nodes at `now`.
    pub fn view(&self, now: Instant) -> View<'_> {
        View::new(&self.state, now)
    }

    /// Returns the latest incarnation of a worker, with its nodes and whether it is up.
    pub fn worker(&self, worker: WorkerId) -> Option<WorkerIncarnation> {
        self.workers.get(worker)
    }

    /// Returns every worker that ever registered with its latest incarnation, ordered by number.
    pub fn workers(&self) -> impl Iterator<Item = (WorkerId, WorkerIncarnation)> + '_ {
        self.workers.iter()
    }

    /// Returns the trigger of scheduling passes under this policy.
    pub fn pass_trigger(&self) -> PassTrigger {
        self.policy.pass_trigger()
    }

    /// Returns why the policy can decide no longer, if it cannot.
    pub fn policy_failure(&self) -> Option<&PolicyFailure> {
        self.policy.failure()
    }

    /// Checks that state and index are consistent, and that earlier checks found no violation.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self, now: Instant) -> Result<(), InvariantViolation> {
        if let Some(violation) = &self.alarms.violation {
            return Err(violation.clone());
        }
        self.state.check()?;
        self.policy.check(self.view(now))
    }

    /// Rebuilds the policy's index from the state, as after a restart.
    pub fn rebuild(&mut self, now: Instant) {
        self.policy.rebuild(View::new(&self.state, now));
    }

    /// Asks for a pass at the next tick.
    pub fn request_pass(&mut self, now: Instant) {
        self.alarms.pass = Some(self.alarms.pass.map_or(now, |pass| pass.min(now)));
    }

    /// Returns the complete state of the gate, for storage. Slots of finished jobs are recycled and the
    /// policy's index is rebuilt. So this gate and a gate [`Gate::restore`]d from the snapshot decide alike
    /// from here on, to the last bit.
    ///
    /// # Panics
    /// If nodes form groups.
    pub fn save(&mut self, now: Instant) -> GateSnapshot {
        assert!(
            !self.state.is_grouped(),
            "a snapshot has no groups of nodes"
        );
        self.state.recycle();
        self.pass_done = false;
        self.rebuild(now);
        self.saved()
    }

    /// Restores the gate that was saved at `now`. The policy must have been built in the same way
    /// as that gate's policy.
    pub fn restore(
        saved: GateSnapshot,
        policy: Box<dyn Policy>,
        market: Market,
        now: Instant,
    ) -> Self {
        let mut gate = Self {
            state: saved.state,
            workers: saved.workers,
            on_eviction: saved.on_eviction,
            ..Self::new(policy, market)
        };
        if gate.policy.follows_uses() {
            gate.state.follow_uses();
        }
        gate.alarms.nodes = saved.alarms;
        gate.alarms.pass = saved.pass;
        gate.rebuild(now);
        gate
    }

    /// Returns an independent copy of the gate for look-ahead; this gate stays unchanged.
    pub fn fork(&self) -> Self {
        Self {
            state: self.state.clone(),
            policy: self.policy.clone_box(),
            market: self.market,
            penalty_limit: self.penalty_limit,
            alarms: PolicyAlarms {
                nodes: self.alarms.nodes.clone(),
                pass: self.alarms.pass,
                omits_reservations: true,
                ..PolicyAlarms::default()
            },
            // No worker registers or vanishes in a look-ahead.
            workers: IncarnationTable::default(),
            on_eviction: self.on_eviction.clone(),
            scratch: ProbeScratch::default(),
            pass_done: self.pass_done,
        }
    }

    /// Returns the sharing of each node, if a job with this SLA depends on nothing else.
    pub(crate) fn node_sharing(&self, sla: &Sla) -> Option<&dyn NodeSharing> {
        let sharing = self.policy.node_sharing(sla);
        // The rate of a task in step depends on the other nodes of its job.
        sharing.filter(|_| !self.state.is_rigid())
    }

    /// Returns the time at which the shares of a node must be recomputed.
    pub(crate) fn alarm(&self, node: NodeId) -> Option<Instant> {
        self.alarms.nodes.at(self.state.lead_of(node).index())
    }

    /// Returns the approximate number of jobs and nodes that a pass examines.
    pub(crate) fn pass_cost(&self, now: Instant) -> usize {
        self.policy.pass_cost(self.view(now))
    }

    /// Returns the number of slots, used or not, plus the number of nodes.
    pub(crate) fn n_slots(&self) -> usize {
        self.on_eviction.len() + self.state.n_nodes() as usize
    }

    fn saved(&self) -> GateSnapshot {
        GateSnapshot {
            state: self.state.clone(),
            alarms: self.alarms.nodes.clone(),
            pass: self.alarms.pass,
            workers: self.workers.clone(),
            on_eviction: self.on_eviction.clone(),
        }
    }

    fn verify(&mut self, now: Instant) {
        if self.alarms.checking {
            self.alarms.violation = self.check(now).err();
        }
    }

    fn context<'a>(&'a mut self, now: Instant, effects: &'a mut Effects) -> PolicyContext<'a> {
        PolicyContext::new(&mut self.state, &mut self.alarms, effects, now)
    }

    /// Recomputes shares wherever an estimate was used up or a deadline passed. The instants of
    /// these events are rounded up to the next microsecond, so an event that is at most one
    /// microsecond away has happened.
    fn tick(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(node) = self.alarms.nodes.due(now + Span::TICK) {
            self.update_shares(now, NodeId(node as u32), effects);
        }
    }

    fn update_shares(&mut self, now: Instant, node: NodeId, effects: &mut Effects) {
        let mut cx = PolicyContext::new(&mut self.state, &mut self.alarms, effects, now);
        self.policy.update_shares(&mut cx, node);
    }

    fn dispatch(
        &mut self,
        now: Instant,
        input: &GateInput,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        match *input {
            GateInput::Submitted {
                spec,
                on_eviction: retry,
                ref forecast,
            } => self.submit(now, spec, retry, forecast.as_ref(), effects),
            GateInput::SubmittedArray {
                spec,
                count,
                on_eviction,
                ref forecast,
            } => self.submit_array(now, spec, count, on_eviction, forecast.as_ref(), effects),
            GateInput::Ended { job, attempt } => {
                self.running(job, attempt)?;
                self.finish(now, job, effects);
                Ok(InputAck::Done)
            }
            GateInput::ProgramStarted { job, attempt, at } => {
                self.running(job, attempt)?;
                if self.state.restart_alone(job, at) {
                    self.policy.nodes_changed(View::new(&self.state, now));
                }
                Ok(InputAck::Done)
            }
            GateInput::TaskEnded { job, attempt, node } => {
                self.running(job, attempt)?;
                self.end_task(now, job, node, effects)
            }
            GateInput::Evicted { job, attempt } => {
                self.running(job, attempt)?;
                self.evict(now, job, effects);
                Ok(InputAck::Done)
            }
            GateInput::Abandoned { job, attempt, by } => {
                self.running(job, attempt)?;
                self.abandon(now, job, by, effects);
                Ok(InputAck::Done)
            }
            GateInput::Withdrawn { job, attempt } => {
                self.running(job, attempt)?;
                self.withdraw(now, job, effects);
                Ok(InputAck::Done)
            }
            GateInput::WorkerUp {
                worker,
                incarnation: epoch,
                nodes,
                memory,
                terms,
                in_use,
            } => self.worker_up(now, worker, epoch, (nodes, memory, terms, in_use)),
            GateInput::WorkerLost {
                worker,
                incarnation: epoch,
            } => self.worker_lost(now, worker, epoch, effects),
            GateInput::WorkerCloses {
                worker,
                incarnation: epoch,
                closes,
            } => self.worker_closes(now, worker, epoch, closes),
            GateInput::WorkerInUse {
                worker,
                incarnation: epoch,
                in_use,
            } => self.worker_in_use(now, worker, epoch, in_use),
            GateInput::WorkerSlowed {
                worker,
                incarnation,
                slowdown,
            } => self.worker_slowed(now, (worker, incarnation), slowdown),
            GateInput::Drain { worker, drained } => self.drain(now, worker, drained),
            GateInput::Cancel { job } => self.cancel(now, job, effects),
            GateInput::Split { job, first } => self.split(now, job, first),
            GateInput::Shrink { job, by } => self.shrink(now, job, by),
            GateInput::Hold { job } => self.hold(now, job),
            GateInput::Release { job } => self.release(now, job),
            GateInput::Reforecast { job, ref forecast } => self.reforecast(now, job, forecast),
            GateInput::Tick => Ok(InputAck::Done),
        }
    }
}
