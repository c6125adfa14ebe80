//! The shadow policy: a second policy that is followed on paper, with the same jobs.
//!
//! The shadow has its own gate with the same nodes, and gets the same jobs. Jobs started on paper
//! do not run: each ends when it would have ended. The run time is known once the job has really
//! run; until then it is forecast, given the real run time so far. The run time of a job that the
//! real policy rejects is never known, so its end on paper is always forecast.
//!
//! The shadow sees the decisions of a [`Core`], which never sees the shadow: it follows each step
//! afterwards. Its state depends on the steps alone, not on the time of queries, so it is recovered
//! together with the core.

mod effects;
mod job;
mod sync;
mod totals;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_gate::{Gate, GateInput, ProbeScratch, Simulation};
use tollgate_model::{AttemptEvent, Instant, JobId, NodeId, Span, TaskId, UserId};
use tollgate_policy::{JobPhase, PassTrigger, PolicySpec};

pub use totals::{ObjectiveSums, PolicyComparison};

use job::{ObservedRuntime, PaperRunTimes, ShadowJob};

use crate::command::{ServiceCommand, Submission};
use crate::core::Core;
use crate::output::{CommandResult, RowChange, StepOutput};
use crate::rules::AdmissionRules;

/// Maximum number of events on paper in one go: the controller has other work to do.
const MAX_STEPS_AT_ONCE: usize = 100_000;

/// The shadow policy with its state on paper.
#[derive(Debug)]
pub(crate) struct ShadowPolicy {
    rules: AdmissionRules,
    simulation: Simulation,
    now: Instant,
    since: Instant,
    jobs: BTreeMap<TaskId, ShadowJob>,
    slots: BTreeMap<JobId, TaskId>,
    /// Jobs that wait for other jobs before their admission decision.
    waiting: BTreeMap<u64, Submission>,
    real: ObjectiveSums,
    paper: ObjectiveSums,
    by_forecast: u64,
    /// Whether a run time may have changed since the simulation last asked for all: with time they
    /// all do.
    run_times_changed: bool,
    scratch: ProbeScratch,
}

/// The serialisable state of a [`ShadowPolicy`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShadowSnapshot {
    policy: String,
    gate: tollgate_gate::GateSnapshot,
    now: Instant,
    since: Instant,
    pairs: Vec<(TaskId, ShadowJob)>,
    waiting: Vec<(u64, Submission)>,
    real: ObjectiveSums,
    paper: ObjectiveSums,
    by_forecast: u64,
}

impl ShadowPolicy {
    /// Creates a shadow that begins now. Jobs that run or wait already are copied, so that the
    /// machine is no emptier on paper; they have no deadline there and are not counted.
    pub(crate) fn start(policy: &PolicySpec, core: &Core) -> Self {
        let rules = AdmissionRules {
            policy: policy.clone(),
            shadow: None,
            ..core.rules.clone()
        };
        let mut gate = Gate::new(rules.policy.build(rules.market), rules.market);
        gate.set_task_limit(Some(rules.max_resident));
        let mut shadow = Self {
            simulation: Simulation::of_future(gate, core.now, &|_| Span::ZERO),
            rules,
            now: core.now,
            since: core.now,
            jobs: BTreeMap::new(),
            slots: BTreeMap::new(),
            waiting: core.jobs.deferred.clone(),
            real: ObjectiveSums::default(),
            paper: ObjectiveSums::default(),
            by_forecast: 0,
            run_times_changed: false,
            scratch: ProbeScratch::default(),
        };
        for (worker, life) in core.gate.workers().filter(|(_, life)| life.up) {
            shadow.apply_input(GateInput::WorkerUp {
                worker,
                incarnation: life.number,
                nodes: life.nodes.len,
                memory: core
                    .gate
                    .view(core.now)
                    .node(NodeId(life.nodes.first))
                    .memory(),
                terms: Default::default(),
                in_use: life.in_use,
            });
            let drained = life.drained;
            shadow.apply_input(GateInput::Drain { worker, drained });
        }
        let weights = core.gate.view(core.now).user_weights().clone();
        shadow.simulation.set_user_weights(core.now, weights);
        let calendar = core.gate.view(core.now).maintenance().clone();
        shadow.simulation.set_maintenance(core.now, calendar);
        let (running, waiting): (Vec<_>, Vec<_>) = core
            .jobs
            .iter()
            .filter(|(_, live)| live.reserved_until.is_none())
            .partition(|(_, live)| live.is_running());
        for (task, live) in running.into_iter().chain(waiting) {
            shadow.adopt(task, live);
        }
        for (job, array) in core.arrays() {
            for group in array.groups() {
                for task in group.tasks.numbers() {
                    shadow.adopt(TaskId { job, task }, &group.common);
                }
            }
        }
        shadow.run_passes();
        shadow
    }

    /// Restores a saved shadow; None if it belongs to another policy.
    pub(crate) fn restore(
        saved: ShadowSnapshot,
        policy: &PolicySpec,
        rules: &AdmissionRules,
    ) -> Option<Self> {
        if saved.policy != policy.to_string() {
            return None;
        }
        let rules = AdmissionRules {
            policy: policy.clone(),
            shadow: None,
            ..rules.clone()
        };
        let built = rules.policy.build(rules.market);
        let mut gate = Gate::restore(saved.gate, built, rules.market, saved.now);
        gate.set_task_limit(Some(rules.max_resident));
        let slots = saved.pairs.iter();
        let slots = slots
            .filter_map(|(key, pair)| Some((pair.slot?, *key)))
            .collect();
        let jobs = saved.pairs.into_iter().collect();
        let run_times = PaperRunTimes {
            jobs: &jobs,
            slots: &slots,
        };
        Some(Self {
            simulation: Simulation::of_future(gate, saved.now, &run_times),
            rules,
            now: saved.now,
            since: saved.since,
            jobs,
            slots,
            waiting: saved.waiting.into_iter().collect(),
            real: saved.real,
            paper: saved.paper,
            by_forecast: saved.by_forecast,
            run_times_changed: false,
            scratch: ProbeScratch::default(),
        })
    }

    /// Returns the whole state, to be stored.
    pub(crate) fn save(&mut self) -> ShadowSnapshot {
        ShadowSnapshot {
            policy: self.rules.policy.to_string(),
            gate: self.simulation.save(self.now),
            now: self.now,
            since: self.since,
            pairs: self.jobs.clone().into_iter().collect(),
            waiting: self.waiting.clone().into_iter().collect(),
            real: self.real,
            paper: self.paper,
            by_forecast: self.by_forecast,
        }
    }

    /// Follows a step of the core on paper.
    pub(crate) fn observe_step(
        &mut self,
        core: &Core,
        commands: &[ServiceCommand],
        step: &StepOutput,
    ) {
        self.advance(core.now);
        self.move_to(core.now);
        // A new service has not read a clock yet.
        if self.since == Instant::ZERO {
            self.since = core.now;
        }
        // Ended jobs free nodes for jobs that arrive at the same instant.
        for change in &step.changes {
            self.observe_runtime(change);
        }
        self.advance(self.now);
        for (command, reply) in commands.iter().zip(&step.results) {
            if *reply == CommandResult::Done {
                self.update_nodes(command);
            }
        }
        for change in &step.changes {
            if let RowChange::ArrayCounts { job, .. } = change {
                self.add_materialised_tasks(*job, core);
            }
        }
        for change in &step.changes {
            self.on_change(core, change);
            if self.simulation.gate().pass_trigger() == PassTrigger::Event {
                self.run_passes();
            }
        }
        self.run_passes();
    }

    /// Returns the comparison of both policies as of `at`.
    pub(crate) fn compare(&mut self, at: Instant) -> PolicyComparison {
        self.advance(at);
        let view = self.simulation.gate().view(self.now);
        let count = |phase| view.jobs().filter(|(_, job)| job.phase == phase).count() as u32;
        let undecided = self.jobs.values().filter(|pair| pair.counts);
        PolicyComparison {
            policy: self.rules.policy.to_string(),
            since: self.since,
            running: count(JobPhase::Running),
            queued: count(JobPhase::Queued),
            real: self.real,
            paper: self.paper,
            by_forecast: self.by_forecast,
            undecided: undecided.count() as u64,
        }
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The first violated invariant.
    pub(crate) fn check_invariants(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        let gate = self.simulation.gate();
        gate.check(self.now)?;
        let (there, known) = (gate.view(self.now).jobs().count(), self.slots.len());
        if there == known {
            return Ok(());
        }
        Err(tollgate_gate::InvariantViolation(format!(
            "the gate on paper has {there} jobs, the shadow {known}"
        )))
    }

    /// Runs the events on paper that are due by `until`. Only the instants of the events matter,
    /// not the number of calls.
    fn advance(&mut self, until: Instant) {
        for _ in 0..MAX_STEPS_AT_ONCE {
            self.reschedule();
            let next = self.simulation.next_event();
            let Some(at) = next.filter(|&at| at <= until && at < Instant::MAX) else {
                return;
            };
            self.move_to(at);
            // By now a job's expected run time may be longer.
            self.reschedule();
            if !self.complete_next() {
                let wake = self.simulation.gate().next_wake();
                if wake.is_none_or(|wake| wake > self.now) {
                    continue;
                }
                self.apply_input(GateInput::Tick);
            }
            self.run_passes();
        }
    }

    /// Moves to `now`, unless the shadow is there already.
    fn move_to(&mut self, now: Instant) {
        if now > self.now {
            self.now = now;
            self.run_times_changed = true;
        }
    }

    /// Computes all ends anew, if run times may have changed.
    fn reschedule(&mut self) {
        if std::mem::take(&mut self.run_times_changed) {
            let run_times = PaperRunTimes {
                jobs: &self.jobs,
                slots: &self.slots,
            };
            self.simulation.reschedule(self.now, &run_times);
        }
    }

    /// Ends the next job or task that is due. Returns false if none is.
    fn complete_next(&mut self) -> bool {
        let run_times = PaperRunTimes {
            jobs: &self.jobs,
            slots: &self.slots,
        };
        let Some(job) = self.simulation.complete_next(self.now, &run_times) else {
            return false;
        };
        if let Some(pair) = self.slots.get(&job).and_then(|key| self.jobs.get_mut(key)) {
            pair.by_forecast |= !matches!(pair.runtime, ObservedRuntime::Ran(_));
        }
        self.apply_effects();
        true
    }

    fn job(&self, slot: JobId) -> Option<&ShadowJob> {
        self.jobs.get(self.slots.get(&slot)?)
    }

    fn update_nodes(&mut self, command: &ServiceCommand) {
        match *command {
            ServiceCommand::WorkerUp {
                worker,
                incarnation: epoch,
                nodes,
                memory,
                ref offer,
            } => self.apply_input(GateInput::WorkerUp {
                worker,
                incarnation: epoch,
                nodes,
                memory,
                terms: Default::default(),
                in_use: offer.in_use,
            }),
            ServiceCommand::WorkerInUse {
                worker,
                incarnation,
                cause,
            } => self.apply_input(GateInput::WorkerInUse {
                worker,
                incarnation,
                in_use: cause,
            }),
            ServiceCommand::Maintain { ref calendar } => {
                self.simulation.set_maintenance(self.now, calendar.clone());
                self.apply_input(GateInput::Tick);
            }
            ServiceCommand::WeighUsers { ref weights } => {
                let weights = weights.iter().map(|&(user, weight)| (UserId(user), weight));
                let weights = weights.collect();
                self.simulation.set_user_weights(self.now, weights);
                self.apply_input(GateInput::Tick);
            }
            ServiceCommand::Drain { worker, drained } => {
                self.apply_input(GateInput::Drain { worker, drained });
            }
            ServiceCommand::WorkerLost {
                worker,
                incarnation: epoch,
            } => {
                self.apply_input(GateInput::WorkerLost {
                    worker,
                    incarnation: epoch,
                });
            }
            ServiceCommand::Submit(_)
            | ServiceCommand::WorkerCloses { .. }
            | ServiceCommand::WorkerSlowed { .. }
            | ServiceCommand::ExpectHosts { .. }
            | ServiceCommand::Report(_)
            | ServiceCommand::Claim { .. }
            | ServiceCommand::Cancel { .. }
            | ServiceCommand::Hold { .. }
            | ServiceCommand::Alter { .. }
            | ServiceCommand::Release { .. }
            | ServiceCommand::Tick
            | ServiceCommand::SetLicences { .. }
            | ServiceCommand::Grant { .. }
            | ServiceCommand::Requeue { .. }
            | ServiceCommand::Learn { .. } => {}
        }
    }

    /// Learns the real run time of a job.
    fn observe_runtime(&mut self, change: &RowChange) {
        if let RowChange::WorkMeasured { attempt, work } = change
            && let Some(pair) = self.jobs.get_mut(&attempt.task())
        {
            pair.runtime = ObservedRuntime::Ran(*work);
            self.run_times_changed = true;
        }
        if let RowChange::AttemptReported(report) = change
            && let Some(pair) = self.jobs.get_mut(&report.attempt.task())
        {
            match &report.event {
                AttemptEvent::Started(_) => {}
                AttemptEvent::Ended(ended) => pair.ending = Some(ended.ending(pair.limit_owners)),
                AttemptEvent::Lost { .. } => pair.runtime = ObservedRuntime::Unknown,
            }
            self.run_times_changed = true;
        }
    }
}
