//! The cluster world: jobs arrive, a gate decides, and the true run times unfold. The ends of jobs
//! follow from a [`Simulation`]; the world adds the arrivals, the truth and the outcomes.

mod config;
mod ground_truth;
mod outcome_window;
mod promise_log;
mod result;
mod stop;

use std::collections::BTreeMap;

use tollgate_forecast::{JobKin, LearnedHistory, UnpredictableAction};
use tollgate_gate::{
    Effect, Gate, GateInput, InputAck, InvariantViolation, JobEnding, Notice, OnEviction,
    PassTrigger, Simulation, WorkerId, quotable,
};
use tollgate_model::outcome::RunInterval;
use tollgate_model::{
    Bytes, Credits, Decision, HostTerms, Instant, JobId, JobSpec, NodeSpeed, Outcome, Reason, Span,
};
use tollgate_policy::{JobPhase, OutlookSubject, Policy, PolicyFailure};
use tollgate_workload::JobArrival;

use crate::estimate_origin::EstimateOrigin;
use crate::estimates::{EstimateProvider, EstimateSetup, JobEstimate};
use crate::verify;
pub use config::{
    MAX_NODES, MAX_PREEMPTION_COST, MAX_RECORD_NODES, OverrunRule, RecordLevel, ReplayConfig,
};
use ground_truth::{GroundTruth, GroundTruths};
use outcome_window::OutcomeWindow;
use promise_log::{NewPromise, PromiseLog};
pub use result::{JobPlacements, PromiseStatement, ReplayFailure, ReplayResult};
pub use stop::StopSignal;

/// Runs jobs, given in order of submission, through a gate with this policy on a dedicated cluster
/// whose nodes never fail, until all admitted jobs have finished.
///
/// # Errors
/// If the policy fails or leaves a job undecided. With [`RecordLevel::Checked`], also with the first
/// violation in the schedule.
pub fn replay(
    arrivals: impl ExactSizeIterator<Item = JobArrival>,
    policy: Box<dyn Policy>,
    settings: &ReplayConfig,
) -> Result<ReplayResult, ReplayFailure> {
    let estimates = EstimateSetup {
        origin: EstimateOrigin::User,
        uses_beliefs: false,
        contexts: &[],
        history: &LearnedHistory::default(),
        unpredictable: None,
    };
    replay_with(arrivals, policy, settings, &estimates)
}

/// Runs a [`replay`] with these estimates and beliefs in the place of the users' estimates. They are
/// learned from what is known at the beginning, and inside the run from the jobs that have ended in
/// this very schedule, by its own clock. As a job ends, its user's waiting jobs are believed anew.
///
/// # Errors
/// As [`replay`].
pub fn replay_with(
    arrivals: impl ExactSizeIterator<Item = JobArrival>,
    policy: Box<dyn Policy>,
    settings: &ReplayConfig,
    estimates: &EstimateSetup<'_>,
) -> Result<ReplayResult, ReplayFailure> {
    let mut outcomes = Vec::with_capacity(arrivals.len());
    let world = run(arrivals, policy, settings, estimates, &mut |outcome| {
        outcomes.push(*outcome);
    })?;
    let replay = ReplayResult {
        outcomes,
        placements: world.placements,
        promises: world.promises.into_statements(),
        kin: world.kin.unwrap_or_default(),
    };
    if settings.record_level == RecordLevel::Checked {
        verify::schedule(&replay, settings)?;
    }
    Ok(replay)
}

/// Runs a replay as [`replay_with`] does, and keeps nothing of it. `visit` gets each outcome in the order of
/// arrival, as soon as the job and all before it have ended. Schedules are not verified as a whole.
///
/// # Errors
/// As [`replay_with`], after some of the outcomes.
pub fn replay_outcomes(
    arrivals: impl ExactSizeIterator<Item = JobArrival>,
    policy: Box<dyn Policy>,
    settings: &ReplayConfig,
    estimates: &EstimateSetup<'_>,
    mut visit: impl FnMut(&Outcome),
) -> Result<(), ReplayFailure> {
    run(arrivals, policy, settings, estimates, &mut visit).map(|_| ())
}

/// Runs all jobs, and returns the world after the last of them.
fn run<'a>(
    mut arrivals: impl ExactSizeIterator<Item = JobArrival>,
    policy: Box<dyn Policy>,
    settings: &ReplayConfig,
    estimates: &EstimateSetup<'a>,
    visit: &mut dyn FnMut(&Outcome),
) -> Result<ClusterSim<'a>, ReplayFailure> {
    let estimates = EstimateProvider::of(estimates);
    let mut world = ClusterSim::new(arrivals.len(), policy, settings, estimates);
    world.run(&mut arrivals, visit, &settings.stop)?;
    world.check_end()?;
    match world.outcomes.next_place() {
        None => Ok(world),
        Some(job) => Err(ReplayFailure::Undecided { job }),
    }
}

/// A cluster in simulated time.
pub(crate) struct ClusterSim<'a> {
    simulation: Simulation,
    pass_trigger: PassTrigger,
    /// The speed of the slowest node. Policies and the gate see all times of jobs as they are there.
    slowest: NodeSpeed,
    estimates: EstimateProvider<'a>,
    truths: GroundTruths,
    /// The waiting jobs by place in the order of arrival, where beliefs follow them.
    waiting: BTreeMap<usize, JobId>,
    outcomes: OutcomeWindow,
    placements: Option<JobPlacements>,
    promises: PromiseLog,
    /// By place in the order of arrival, of jobs that ran; None if it is not requested.
    kin: Option<BTreeMap<usize, JobKin>>,
    overrun: OverrunRule,
    node_memory: Option<Bytes>,
    dedicated_nodes: u32,
    states_promises: bool,
    checking: bool,
}

impl<'a> ClusterSim<'a> {
    pub(crate) fn new(
        jobs: usize,
        policy: Box<dyn Policy>,
        settings: &ReplayConfig,
        estimates: EstimateProvider<'a>,
    ) -> Self {
        let mut gate = Gate::new(policy, settings.market);
        gate.set_task_coupling(settings.tasks);
        gate.set_penalty_limit(settings.penalty_limit);
        gate.set_preemption_cost(settings.preemption_cost);
        gate.set_speeds(settings.speeds.relative_to_slowest(settings.nodes));
        gate.group_nodes();
        match settings.record_level {
            RecordLevel::Outcomes => gate.omit_reservations(),
            RecordLevel::Placements => {}
            RecordLevel::Checked => gate.enable_checks(),
        }
        let mut world = Self {
            pass_trigger: gate.pass_trigger(),
            simulation: Simulation::new(gate),
            slowest: settings.speeds.slowest(settings.nodes),
            estimates,
            truths: GroundTruths::default(),
            waiting: BTreeMap::new(),
            outcomes: OutcomeWindow::default(),
            placements: (settings.record_level != RecordLevel::Outcomes)
                .then(|| JobPlacements::new(jobs)),
            promises: PromiseLog::default(),
            kin: (settings.record_level != RecordLevel::Outcomes).then(BTreeMap::new),
            overrun: settings.overrun,
            node_memory: settings.node_memory,
            dedicated_nodes: settings.dedicated_nodes,
            states_promises: settings.states_promises,
            checking: settings.record_level == RecordLevel::Checked,
        };
        let dedicated = settings.dedicated_nodes;
        let parts = [(settings.nodes - dedicated, false), (dedicated, true)];
        for (worker, (nodes, is_set_aside)) in (0..).zip(parts).filter(|(_, part)| part.0 > 0) {
            let up = GateInput::WorkerUp {
                worker: WorkerId(worker),
                incarnation: 1,
                nodes,
                memory: settings.node_memory.map(Bytes::as_u64),
                terms: HostTerms {
                    is_set_aside,
                    ..HostTerms::default()
                },
                in_use: None,
            };
            world.input(Instant::from_micros(i64::MIN), up);
        }
        world
    }

    /// Runs to the end of the last job; `visit` gets the outcomes in the order of arrival. Not generic, so
    /// that the loop is compiled and optimised here and not in the calling crate.
    fn run(
        &mut self,
        arrivals: &mut dyn Iterator<Item = JobArrival>,
        visit: &mut dyn FnMut(&Outcome),
        stop: &StopSignal,
    ) -> Result<(), ReplayFailure> {
        let mut arrivals = arrivals.enumerate().peekable();
        loop {
            if stop.is_given() {
                return Err(ReplayFailure::Stopped);
            }
            let arrival = arrivals.peek().map(|(_, arrival)| arrival.spec.submit);
            let Some(next) = arrival.into_iter().chain(self.next_event()).min() else {
                return Ok(());
            };
            self.begin_instant(next);
            while let Some((index, arrival)) = arrivals.next_if(|(_, a)| a.spec.submit == next) {
                self.submit(index, arrival)?;
            }
            self.end_instant(next)?;
            while let Some(outcome) = self.outcomes.take_next() {
                visit(&outcome);
            }
        }
    }

    /// Handles what comes before the submissions of an instant.
    pub(crate) fn begin_instant(&mut self, now: Instant) {
        match self.pass_trigger {
            PassTrigger::Instant => {
                while self.complete_next(now) {}
                self.revise_beliefs(now);
                self.tick(now);
            }
            PassTrigger::Event => {}
        }
    }

    /// Submits the `index`-th job at the instant of its submission.
    pub(crate) fn submit(
        &mut self,
        index: usize,
        arrival: JobArrival,
    ) -> Result<(), PolicyFailure> {
        let now = arrival.spec.submit;
        self.arrive(index, arrival);
        match self.pass_trigger {
            PassTrigger::Instant => Ok(()),
            PassTrigger::Event => self.run_pass(now),
        }
    }

    /// Handles what comes after the submissions of an instant.
    pub(crate) fn end_instant(&mut self, now: Instant) -> Result<(), PolicyFailure> {
        match self.pass_trigger {
            PassTrigger::Instant => {}
            PassTrigger::Event => {
                while self.complete_next(now) {
                    self.run_pass(now)?;
                }
                self.tick(now);
            }
        }
        self.run_pass(now)
    }

    /// Returns the instant of the next event that is not a submission. That beliefs change is one.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let revision = self.estimates.next_revision();
        self.simulation
            .next_event()
            .into_iter()
            .chain(revision)
            .min()
    }

    /// Ends the next job or task that is due. Returns false if none is.
    fn complete_next(&mut self, now: Instant) -> bool {
        let job = self.simulation.complete_next(now, &self.truths);
        if job.is_some() {
            self.apply_effects(now);
        }
        job.is_some()
    }

    /// Lets the gate recompute shares if it is time.
    fn tick(&mut self, now: Instant) {
        if self.simulation.gate().is_alarm_due(now) {
            self.input(now, GateInput::Tick);
        }
    }

    /// Returns the `index`-th job as the gate sees it: times are those on the slowest node, and it is as wide as its
    /// memory needs.
    fn estimate_of(&mut self, index: usize, arrival: &JobArrival) -> JobEstimate {
        let estimate = self.estimates.estimate(index, arrival);
        self.on_machine(estimate, arrival)
    }

    /// Returns the `index`-th job as the gate would see it if it were submitted here.
    pub(crate) fn quoted(&self, index: usize, arrival: &JobArrival) -> JobEstimate {
        self.on_machine(self.estimates.quote(index, arrival), arrival)
    }

    fn on_machine(&self, estimate: JobEstimate, arrival: &JobArrival) -> JobEstimate {
        let JobSpec { procs, memory, .. } = arrival.spec_on(self.node_memory);
        JobEstimate {
            spec: JobSpec {
                estimate: self.slowest.time_for(estimate.spec.estimate),
                procs,
                memory,
                ..estimate.spec
            },
            forecast: estimate.forecast.map(|on| on.at_speed(self.slowest)),
            ..estimate
        }
    }

    pub(crate) fn gate(&self) -> &Gate {
        self.simulation.gate()
    }

    fn arrive(&mut self, index: usize, mut arrival: JobArrival) {
        let now = arrival.spec.submit;
        let mut limit = self.overrun.limit(&arrival);
        let mut killed = self.overrun.kills(&arrival);
        if killed {
            arrival.runtime = arrival.spec.estimate;
        }
        self.outcomes.add(index);
        let mut estimate = self.estimate_of(index, &arrival);
        let due = estimate.spec.due();
        let site_limit = self.treat(&mut estimate);
        if let Some(of_site) = site_limit {
            limit = limit.into_iter().chain([of_site]).min();
            killed |= arrival.runtime > of_site;
            arrival.runtime = arrival.runtime.min(of_site);
        }
        let on_slowest = self.slowest.time_for(arrival.runtime);
        let truth = GroundTruth {
            index,
            recorded: arrival.runtime,
            on_slowest,
            on_slowest_s: on_slowest.as_secs_f64(),
            limit: limit.map(|limit| self.slowest.time_for(limit)),
            killed,
            site_limit: site_limit.map(|limit| self.slowest.time_for(limit)),
            due,
            requested_procs: arrival.spec.procs,
            unpredictable: estimate.unpredictable.is_some(),
            is_known: estimate.is_known,
            planned_run: estimate.spec.estimate,
            utility: Credits::ZERO,
        };
        let submitted = GateInput::Submitted {
            spec: estimate.spec,
            on_eviction: OnEviction::Fail,
            forecast: estimate.belief(),
        };
        let answer = self.simulation.handle(now, submitted);
        let Ok(InputAck::Job(job)) = answer else {
            unreachable!("a job from a workload is well-formed: {answer:?}");
        };
        if self.simulation.gate().view(now).job(job).phase != JobPhase::Closed {
            self.simulation.note_request(now, &estimate.spec, 1);
        }
        self.truths.set(job, truth);
        if self.estimates.follows_starts() {
            self.waiting.insert(truth.index, job);
        }
        self.apply_effects(now);
        self.estimates.admit(index, now);
    }

    /// Changes a job whose run time cannot be predicted as its treatment wants it, as a service does. Returns the run time
    /// after which it is ended, on a node of speed 1.
    fn treat(&self, estimate: &mut JobEstimate) -> Option<Span> {
        let spec = &mut estimate.spec;
        match estimate.unpredictable?.action {
            UnpredictableAction::None => {}
            UnpredictableAction::Limit(limit) => {
                let on_slowest = self.slowest.time_for(limit);
                spec.estimate = spec.estimate.min(on_slowest);
                estimate.forecast = estimate.forecast.map(|on| on.ended_at(on_slowest));
                return Some(limit);
            }
            UnpredictableAction::Dedicated if spec.procs <= self.dedicated_nodes => {
                spec.needs.set_aside = true;
            }
            UnpredictableAction::Dedicated | UnpredictableAction::NoPromise => {
                spec.sla.deadline = None;
                spec.sla.confidence = None;
            }
        }
        None
    }

    /// Removes a job that starts from the waiting jobs.
    fn start(&mut self, now: Instant, job: JobId) {
        let index = self.truths[job].index;
        if self.waiting.remove(&index).is_some() {
            self.estimates.observe_start(index, now);
        }
    }

    /// Passes to the gate what is believed of the waiting jobs about which more is known now.
    fn revise_beliefs(&mut self, now: Instant) {
        for (index, forecast) in self.estimates.take_revised(now) {
            if let Some(&job) = self.waiting.get(&index) {
                let forecast = forecast.at_speed(self.slowest);
                let limit = self.truths[job].site_limit;
                let forecast = limit.map_or(forecast, |limit| forecast.ended_at(limit));
                self.input(now, GateInput::Reforecast { job, forecast });
            }
        }
    }

    fn input(&mut self, now: Instant, input: GateInput) {
        let answer = self.simulation.handle(now, input);
        debug_assert!(answer.is_ok(), "the world reports what is true: {answer:?}");
        self.apply_effects(now);
    }

    fn run_pass(&mut self, now: Instant) -> Result<(), PolicyFailure> {
        self.revise_beliefs(now);
        self.simulation.run_pass(now);
        self.apply_effects(now);
        self.estimates.follow_jobs();
        let failure = self.simulation.gate().policy_failure();
        failure.map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn apply_effects(&mut self, now: Instant) {
        while let Some(effect) = self.simulation.next_effect(now, &self.truths) {
            match effect {
                Effect::Book { job, amount, .. } => self.truths.book(job, amount),
                Effect::Notify {
                    job,
                    notice: Notice::Rejected(reason),
                } => {
                    let reason = self.reason_for_user(now, job, reason);
                    self.note_rejected(now, job, reason);
                    self.record_outcome(now, job, Decision::Rejected(reason));
                }
                Effect::Closed {
                    job,
                    ending: JobEnding::Finished,
                } => {
                    let view = self.simulation.gate().view(now);
                    let admitted = view.job(job);
                    let has_deadline = admitted.spec.due() == self.truths[job].due;
                    let is_promised = admitted.is_promised() && has_deadline;
                    let decision = match is_promised {
                        true => Decision::Accepted,
                        false => Decision::Unpromised,
                    };
                    self.record_outcome(now, job, decision);
                }
                Effect::Start { job, .. } => self.start(now, job),
                Effect::Notify {
                    job,
                    notice: Notice::Accepted { .. } | Notice::Promised { .. },
                } => {
                    let planned = self.simulation.gate().planned_run(now, job);
                    self.truths.plan(job, planned);
                    self.state_promise(now, job);
                }
                Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Notify {
                    notice: Notice::Queued | Notice::Unpromised { .. },
                    ..
                } => {}
                Effect::Kill { .. }
                | Effect::Closed {
                    ending: JobEnding::Cancelled | JobEnding::Lost,
                    ..
                } => unreachable!("no job is cancelled and none vanishes here: {effect:?}"),
            }
        }
    }

    /// Records the probability with which the deadline of a job has just been promised.
    fn state_promise(&mut self, now: Instant, id: JobId) {
        let gate = self.simulation.gate();
        let due = gate.view(now).job(id).spec.due();
        let Some(due) = due.filter(|_| self.states_promises) else {
            return;
        };
        let Some(runs) = gate.possible_runs(now, OutlookSubject::Existing(&[id]), None) else {
            return;
        };
        let truth = self.truths[id];
        let raw = runs.ended_at(truth.limit).probability_by(due);
        let promise = NewPromise {
            job: truth.index,
            user: gate.view(now).job(id).spec.user,
            due,
            raw: quotable(raw),
            is_known: truth.is_known,
        };
        self.promises.add(now, promise);
    }

    /// Returns the reason of a rejection that names the request of the user: a job can be too wide for its memory alone.
    fn reason_for_user(&self, now: Instant, id: JobId, reason: Reason) -> Reason {
        let view = self.simulation.gate().view(now);
        let requested = self.truths[id].requested_procs;
        let is_widened = view.job(id).spec.procs > requested;
        match reason == Reason::TooManyProcs && is_widened && requested <= view.n_nodes() {
            true => Reason::NoMemory,
            false => reason,
        }
    }

    /// Counts a job that is rejected at its submission as work that its user asked for, if others have the room. Any other
    /// job was counted when it was submitted.
    fn note_rejected(&mut self, now: Instant, id: JobId, reason: Reason) {
        let spec = self.simulation.gate().view(now).job(id).spec;
        if spec.submit == now && reason.is_lack_of_room() {
            self.simulation.note_request(now, &spec, 1);
        }
    }

    /// Records the outcome of a job.
    fn record_outcome(&mut self, now: Instant, id: JobId, decision: Decision) {
        let truth = self.truths[id];
        self.waiting.remove(&truth.index);
        let view = self.simulation.gate().view(now);
        let job = view.job(id);
        let accepted = job.accepted;
        match decision {
            Decision::Accepted | Decision::Unpromised => {
                let estimates = &mut self.estimates;
                if let Some(kin) = &mut self.kin {
                    let known = estimates.kin(truth.index);
                    kin.extend(known.map(|known| (truth.index, known)));
                }
                if truth.killed {
                    estimates.observe_limit(truth.index, truth.recorded, now);
                } else {
                    estimates.observe_completion(truth.index, truth.recorded, now);
                }
            }
            Decision::Rejected(_) => self.estimates.discard(truth.index),
        }
        let outcome = Outcome {
            submit: job.spec.submit,
            runtime: view.speed_of_job(id).time_for(truth.on_slowest),
            task_runtime: view.mean_task_time(id, truth.on_slowest),
            planned_run: truth.planned_run,
            procs: job.spec.procs,
            decision,
            decided: accepted.map_or(now, |accepted| accepted.at),
            ran: job.start.map(|start| RunInterval { start, finish: now }),
            due: truth.due,
            budget: job.spec.sla.budget.unwrap_or_default(),
            price: accepted.map_or(Credits::ZERO, |accepted| accepted.price),
            utility: truth.utility,
            killed: truth.killed && decision.is_admitted(),
            unpredictable: truth.unpredictable,
        };
        self.promises.end(now, truth.index, &outcome);
        self.outcomes.set(truth.index, outcome);
        if let Some(placements) = &mut self.placements {
            placements.set(truth.index, job);
        }
    }

    /// Returns the outcomes by place in the order of arrival; None of jobs that were not submitted here or
    /// are undecided.
    ///
    /// # Errors
    /// With [`RecordLevel::Checked`], the first violation in the last state.
    pub(crate) fn into_outcomes(self) -> Result<Vec<Option<Outcome>>, InvariantViolation> {
        self.check_end()?;
        Ok(self.outcomes.into_rest())
    }

    /// Checks the last state, with [`RecordLevel::Checked`].
    fn check_end(&self) -> Result<(), InvariantViolation> {
        match self.checking {
            true => self.simulation.gate().check(Instant::MAX),
            false => Ok(()),
        }
    }
}
