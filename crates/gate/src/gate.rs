//! The state machine of admission, scheduling and accounting.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{
    Distribution, HostTerms, Instant, JobId, JobSpec, MachineSpeeds, MaintenanceCalendar, Market,
    NodeId, NodeRange, PenaltyLimit, Probability, ResourceCounts, ResourceIndex, Sla, Span,
};
use tollgate_policy::{
    AdmissionDecision, ClusterState, Effect, InvariantViolation, JobEnding, JobPhase, JobSlot,
    NodeSharing, Notice, OutlookSubject, PassTrigger, Policy, PolicyAlarms, PolicyContext,
    PolicyFailure, ProbeScratch, TaskCoupling, View,
};

use crate::input::{GateInput, InputAck, InputError, OnEviction, WorkerId};
use crate::ledger;
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
        Self {
            state: ClusterState::default(),
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
        let mut cx = PolicyContext::new(&mut self.state, &mut self.alarms, effects, now);
        self.policy.pass(&mut cx);
        self.pass_done = true;
        self.verify(now);
    }

    /// Returns the time by which the driver must send [`GateInput::Tick`] and settle even without
    /// other inputs, because an estimate is used up, a deadline passes, or a planned start is due.
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
        tellable: Option<Probability>,
    ) -> Option<Vec<RunInterval>> {
        self.policy.possible_runs(self.view(now), subject, tellable)
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

    /// Takes the deadline off a job that waits without a promise.
    pub fn drop_deadline(&mut self, now: Instant, job: JobId) {
        self.state.drop_deadline(job);
        self.rebuild(now);
    }

    /// Lets a job be promised beyond its user's share. The next input shows what changes by it.
    pub fn grant(&mut self, now: Instant, job: JobId) {
        self.state.grant(job);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Starts a held job on the nodes of a job of the same array that ended at this instant, without a
    /// pass: the engine was told before that the one follows the other. The job has no deadline and no
    /// price.
    ///
    /// # Errors
    /// If the job is not held, or not all of the nodes can take it. Then nothing changes.
    pub fn start_follower(
        &mut self,
        now: Instant,
        job: JobId,
        nodes: &[NodeRange],
        effects: &mut Vec<Effect>,
    ) -> Result<(), InputError> {
        let held = self.state.find_job(job).ok_or(InputError::UnknownJob)?;
        if held.phase != JobPhase::Held {
            return Err(InputError::NotHeld);
        }
        let mut cx = PolicyContext::new(&mut self.state, &mut self.alarms, effects, now);
        if !self.policy.start_follower(&mut cx, job, nodes) {
            return Err(InputError::NotHeld);
        }
        self.verify(now);
        Ok(())
    }

    /// Asks for a pass at the next tick.
    pub fn request_pass(&mut self, now: Instant) {
        self.alarms.pass = Some(self.alarms.pass.map_or(now, |pass| pass.min(now)));
    }

    /// Returns the complete state of the gate, for storage. Slots of finished jobs are recycled and
    /// the policy's index is rebuilt, so that this gate and a gate [`Gate::restore`]d from the
    /// snapshot decide alike from here on, to the last bit.
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
            GateInput::TaskEnded { job, attempt, node } => {
                self.running(job, attempt)?;
                self.end_task(now, job, node, effects)
            }
            GateInput::Evicted { job, attempt } => {
                self.running(job, attempt)?;
                self.evict(now, job, effects);
                Ok(InputAck::Done)
            }
            GateInput::WorkerUp {
                worker,
                incarnation: epoch,
                nodes,
                memory,
                terms,
            } => self.worker_up(now, worker, epoch, (nodes, memory, terms)),
            GateInput::WorkerLost {
                worker,
                incarnation: epoch,
            } => self.worker_lost(now, worker, epoch, effects),
            GateInput::Drain { worker, drained } => self.drain(now, worker, drained),
            GateInput::Cancel { job } => self.cancel(now, job, effects),
            GateInput::Hold { job } => self.hold(now, job),
            GateInput::Release { job } => self.release(now, job),
            GateInput::Reforecast { job, ref forecast } => self.reforecast(now, job, forecast),
            GateInput::Tick => Ok(InputAck::Done),
        }
    }

    /// Submits a job: a probe, then the commit of the probe's own verdict.
    fn submit(
        &mut self,
        now: Instant,
        spec: JobSpec,
        retry: OnEviction,
        forecast: Option<&Distribution>,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        check_spec(&spec)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let decision = self.quote(now, &spec, forecast, &mut scratch);
        let job = self.insert(spec, retry, forecast);
        self.commit(now, job, decision, &scratch, effects);
        self.scratch = scratch;
        Ok(InputAck::Job(job))
    }

    fn submit_array(
        &mut self,
        now: Instant,
        spec: JobSpec,
        count: u32,
        retry: OnEviction,
        forecast: Option<&Distribution>,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        check_spec(&spec)?;
        if count == 0 {
            return Err(InputError::Malformed);
        }
        let together = self.quote_array(now, &spec, forecast, count);
        for _ in 0..count {
            match together {
                None => {
                    self.submit(now, spec, retry, forecast, effects)?;
                }
                Some(decision) => {
                    let job = self.insert(spec, retry, forecast);
                    self.commit(now, job, decision, &ProbeScratch::default(), effects);
                }
            }
        }
        Ok(InputAck::Jobs)
    }

    fn insert(
        &mut self,
        spec: JobSpec,
        retry: OnEviction,
        forecast: Option<&Distribution>,
    ) -> JobId {
        let job = self.state.insert(spec);
        if let Some(forecast) = forecast {
            self.state.set_forecast(job, *forecast);
        }
        self.set_on_eviction(job, retry);
        job
    }

    /// Commits the decision on a job that was inserted just now.
    fn commit(
        &mut self,
        now: Instant,
        job: JobId,
        decision: AdmissionDecision,
        scratch: &ProbeScratch,
        effects: &mut Effects,
    ) {
        let mut cx = self.context(now, effects);
        match decision {
            AdmissionDecision::Reject(reason) => cx.reject(job, reason),
            AdmissionDecision::Queue | AdmissionDecision::Waitlist { .. } => {
                cx.notify(job, Notice::Queued);
                self.policy.queued(View::new(&self.state, now), job);
            }
            AdmissionDecision::Promise { price, due } => {
                cx.accept(job, price, due);
                self.policy.queued(View::new(&self.state, now), job);
            }
            AdmissionDecision::Run { price } => {
                let started = cx.start_shared(job, &scratch.nodes, price);
                for &(_, node) in &started.parted {
                    self.policy.group_parted(View::new(&self.state, now), node);
                }
                for node in started.leads {
                    self.update_shares(now, node, effects);
                }
            }
        }
    }

    fn set_on_eviction(&mut self, job: JobId, retry: OnEviction) {
        if job.index() >= self.on_eviction.len() {
            self.on_eviction.resize(job.index() + 1, OnEviction::Fail);
        }
        self.on_eviction[job.index()] = retry;
    }

    /// Returns the job of a report, if the report is about the current attempt.
    fn running(&self, id: JobId, attempt: u32) -> Result<&JobSlot, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Running || job.attempt != attempt {
            return Err(InputError::StaleAttempt);
        }
        Ok(job)
    }

    fn end_task(
        &mut self,
        now: Instant,
        job: JobId,
        node: NodeId,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        if self.state.lead_of(node) != node || !self.state.is_shared_on(job, node) {
            return Err(InputError::NoSuchTask);
        }
        let last = self.state.end_task(job, node, now);
        self.update_shares(now, node, effects);
        if last {
            self.finish(now, job, effects);
        }
        Ok(InputAck::Done)
    }

    /// Ends a running job that has no running task left.
    fn finish(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        let ending = if self.state.job(id).cancelling {
            JobEnding::Cancelled
        } else {
            JobEnding::Finished
        };
        self.unplace(now, id, effects);
        let job = self.state.job(id);
        for (entry, amount) in ledger::entries(self.market, self.penalty_limit, job, now) {
            effects.push(Effect::Book {
                job: id,
                kind: entry,
                amount,
            });
        }
        self.close(id, ending, effects);
    }

    /// Evicts a job from its nodes. The job is requeued if allowed, otherwise it is lost.
    fn evict(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        self.unplace(now, id, effects);
        let cancelling = self.state.job(id).cancelling;
        match self.on_eviction[id.index()] {
            _ if cancelling => self.close(id, JobEnding::Cancelled, effects),
            OnEviction::Fail => {
                let booked = ledger::loss(self.market, self.penalty_limit, self.state.job(id), now);
                effects.extend(booked.map(|(entry, amount)| Effect::Book {
                    job: id,
                    kind: entry,
                    amount,
                }));
                self.close(id, JobEnding::Lost, effects);
            }
            OnEviction::Requeue => {
                self.state.reset_attempt(id);
                effects.push(Effect::Notify {
                    job: id,
                    notice: Notice::Queued,
                });
                self.policy.queued(View::new(&self.state, now), id);
            }
        }
    }

    fn unplace(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        let nodes = self.state.unplace(id, now);
        self.policy.ended(View::new(&self.state, now), id);
        for node in nodes {
            self.update_shares(now, node, effects);
        }
    }

    fn close(&mut self, job: JobId, ending: JobEnding, effects: &mut Effects) {
        self.state.close(job);
        effects.push(Effect::Closed { job, ending });
    }

    fn worker_up(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        (nodes, memory, terms): (u32, Option<u64>, HostTerms),
    ) -> Result<InputAck, InputError> {
        let known = self.workers.get(id);
        if known.is_some_and(|worker| worker.up || epoch <= worker.number) {
            return Err(InputError::StaleWorker);
        }
        if nodes == 0 {
            return Err(InputError::Malformed);
        }
        let own = known.map(|worker| worker.nodes);
        let nodes = match own.filter(|own| own.len == nodes) {
            Some(own) => {
                own.nodes().for_each(|node| self.state.set_up(node));
                own
            }
            None => self.state.add_nodes(nodes),
        };
        self.state.set_memory(nodes, memory);
        self.state.set_host(now, nodes, terms);
        self.alarms.nodes.grow(self.state.n_nodes() as usize);
        let drained = known.is_some_and(|worker| worker.drained);
        if drained {
            nodes.nodes().for_each(|node| self.state.drain(node));
        }
        self.workers.set(
            id,
            WorkerIncarnation {
                number: epoch,
                nodes,
                up: true,
                drained,
            },
        );
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Nodes(nodes))
    }

    /// Sets the times in which no job runs. The next input shows what changes by it.
    pub fn set_maintenance(&mut self, now: Instant, calendar: MaintenanceCalendar) {
        self.state.set_maintenance(calendar);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Sets the licences of the site: which resources they are, and how many there are of each. The next
    /// input shows what changes by it.
    pub fn set_licences(&mut self, now: Instant, known: Vec<ResourceIndex>, total: ResourceCounts) {
        self.state.set_licences(known, total);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Drains a worker's nodes or lets jobs start there again. A worker that is down stays drained.
    fn drain(&mut self, now: Instant, id: WorkerId, drained: bool) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id).ok_or(InputError::StaleWorker)?;
        if worker.drained == drained {
            return Ok(InputAck::Done);
        }
        for node in worker.nodes.nodes().filter(|_| worker.up) {
            match drained {
                true => self.state.drain(node),
                false => self.state.resume(node),
            }
        }
        self.workers
            .set(id, WorkerIncarnation { drained, ..worker });
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Done)
    }

    fn worker_lost(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id).ok_or(InputError::StaleWorker)?;
        if !worker.up || worker.number != epoch {
            return Err(InputError::StaleWorker);
        }
        for job in self.jobs_on(worker.nodes) {
            self.evict(now, job, effects);
        }
        worker
            .nodes
            .nodes()
            .for_each(|node| self.state.set_down(node));
        self.workers.set(
            id,
            WorkerIncarnation {
                up: false,
                ..worker
            },
        );
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Done)
    }

    /// Returns the jobs with a running task on these nodes, in order of submission.
    fn jobs_on(&self, nodes: NodeRange) -> Vec<JobId> {
        let running = self
            .state
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let mut jobs: Vec<(u64, JobId)> = running
            .filter(|(id, _)| nodes.nodes().any(|node| self.state.runs_on(*id, node)))
            .map(|(id, job)| (job.sequence, id))
            .collect();
        jobs.sort_unstable();
        jobs.into_iter().map(|(_, id)| id).collect()
    }

    fn cancel(
        &mut self,
        now: Instant,
        id: JobId,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        let attempt = job.attempt;
        match job.phase {
            JobPhase::Vacant | JobPhase::Closed => return Err(InputError::UnknownJob),
            JobPhase::Queued => {
                self.policy.dequeued(View::new(&self.state, now), id);
                self.close(id, JobEnding::Cancelled, effects);
            }
            JobPhase::Held => self.close(id, JobEnding::Cancelled, effects),
            JobPhase::Running if job.cancelling => return Err(InputError::StaleAttempt),
            JobPhase::Running => {
                self.state.set_cancelling(id);
                effects.push(Effect::Kill { job: id, attempt });
            }
        }
        Ok(InputAck::Done)
    }

    /// Replaces the forecast of a queued job. It leaves the queue for that moment, because a policy may
    /// keep what follows from a forecast.
    fn reforecast(
        &mut self,
        now: Instant,
        id: JobId,
        forecast: &Distribution,
    ) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Queued {
            return Err(InputError::NotQueued);
        }
        self.policy.dequeued(View::new(&self.state, now), id);
        self.state.set_forecast(id, *forecast);
        self.policy.queued(View::new(&self.state, now), id);
        Ok(InputAck::Done)
    }

    fn hold(&mut self, now: Instant, id: JobId) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Queued {
            return Err(InputError::NotQueued);
        }
        self.policy.dequeued(View::new(&self.state, now), id);
        self.state.set_held(id, true);
        Ok(InputAck::Done)
    }

    fn release(&mut self, now: Instant, id: JobId) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Held {
            return Err(InputError::NotHeld);
        }
        self.state.set_held(id, false);
        self.policy.queued(View::new(&self.state, now), id);
        Ok(InputAck::Done)
    }
}

/// Checks that a job asks for something.
fn check_spec(spec: &JobSpec) -> Result<(), InputError> {
    if spec.procs == 0 || spec.estimate <= Span::ZERO {
        return Err(InputError::Malformed);
    }
    Ok(())
}
