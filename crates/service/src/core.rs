//! The whole service but for its input and output: commands in, and out comes what to store, what
//! to answer and what to have done.
//!
//! [`Core::step`] is all there is. It reads no clock, file or socket, so the same commands at the
//! same instants lead to the same state and the same answers: a crash is survived by handling again
//! what was stored, and the whole service can be simulated.
//!
//! | module | what it does |
//! |---|---|
//! | `submit`, `array`, `after`, `hold` | takes jobs in: one, many, those that wait for others, quotes that are held |
//! | `answer`, `offer`, `prospect`, `expected` | finds out what a job is told |
//! | `effects` | carries out what the gate wants done |
//! | `shadow` | asks another policy, on paper |
//! | `look` | looks in, and checks |

mod admission;
mod array;
mod command;
mod counter_offer;
mod dependency;
mod effects;
mod hold;
mod jobs;
mod output;
mod prediction;
mod query;
mod rules;
mod runtime_forecast;
mod shadow;
mod submit;
mod task_ranges;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, Forecaster};
use tollgate_gate::{Effect, Gate, GateInput, ProbeScratch};
use tollgate_model::{Instant, Span};
use tollgate_policy::PassTrigger;

pub use array::{ActiveArray, TaskCounts};
pub use command::{
    ArraySpec, AttemptExit, AttemptProgress, DependencyCondition, JobDependency, KillCause,
    ServiceCommand, Submission, SubmissionOptions, TaskAttemptKey, TaskKey,
};
pub use dependency::DeferredJob;
pub use jobs::ActiveTask;
use jobs::JobTable;
pub use output::{
    AdmissionState, CommandError, CommandResult, ConfidenceThreshold, CounterOffer, EngineAction,
    EstimateSource, JobPrediction, OfferAxis, RejectReason, RowChange, StepOutput, SubmitOutcome,
    TaskGroupOutcome,
};
use prediction::LookAheadCache;
pub use rules::{AdmissionRules, StoredRules};
pub use runtime_forecast::{ForecastBasis, RuntimeForecast};
use shadow::ShadowPolicy;
pub use shadow::{PolicyComparison, ShadowTotals};
pub use task_ranges::{BadTaskRanges, TaskRanges};

/// The most quotes that are held for one user at a time: each keeps room from others.
const MAX_RESERVATIONS: usize = 16;

/// The state of the service.
#[derive(Debug)]
pub struct Core {
    rules: AdmissionRules,
    gate: Gate,
    jobs: JobTable,
    forecaster: Forecaster,
    classes: BTreeMap<(u32, String), ClassId>,
    now: Instant,
    effects: Vec<Effect>,
    scratch: ProbeScratch,
    /// In a step: jobs that need not wait any more, and are to be decided about.
    released: Vec<u64>,
    /// In a step: jobs that are over, and ended as those that wait for them need it.
    succeeded: BTreeSet<u64>,
    look_ahead: LookAheadCache,
    /// It follows each step, and nothing here looks at it.
    shadow: Option<Box<ShadowPolicy>>,
}

/// A [`Core`] on its way to a file and back. The rules are the configuration's.
#[derive(Debug, Serialize, Deserialize)]
pub struct CoreSnapshot {
    gate: tollgate_gate::GateSnapshot,
    jobs: JobTable,
    forecaster: Forecaster,
    classes: Vec<((u32, String), ClassId)>,
    now: Instant,
    shadow: Option<shadow::ShadowSnapshot>,
}

impl Core {
    /// A service that has seen nothing yet.
    pub fn new(rules: AdmissionRules) -> Self {
        let mut gate = Gate::new(rules.policy.build(rules.market), rules.market);
        gate.set_task_limit(Some(rules.max_resident));
        let mut core = Self {
            gate,
            rules,
            jobs: JobTable::default(),
            forecaster: Forecaster::default(),
            classes: BTreeMap::new(),
            now: Instant::ZERO,
            effects: Vec::new(),
            scratch: ProbeScratch::default(),
            released: Vec::new(),
            succeeded: BTreeSet::new(),
            look_ahead: LookAheadCache::default(),
            shadow: None,
        };
        core.start_shadow();
        core
    }

    /// Handles commands that came in by `at`, in one go. What happened before that is never
    /// `at`, however the clock on the wall is set.
    pub fn step(&mut self, at: Instant, commands: &[ServiceCommand]) -> StepOutput {
        let step = self.decide(at, commands);
        if let Some(mut shadow) = self.shadow.take() {
            shadow.observe_step(self, commands, &step);
            self.shadow = Some(shadow);
        }
        step
    }

    fn decide(&mut self, at: Instant, commands: &[ServiceCommand]) -> StepOutput {
        self.now = self.now.max(at);
        let mut step = StepOutput::default();
        self.expire_due(&mut step);
        // Jobs are asked about before they are handed in: by shares as they are, not as they were set.
        if self.gate.next_wake().is_some_and(|due| due <= self.now) {
            let _ = self.apply_input(GateInput::Tick, &mut step);
        }
        let mut replies: Vec<Option<CommandResult>> = vec![None; commands.len()];
        for reports in [true, false] {
            for (reply, command) in replies.iter_mut().zip(commands) {
                if command.is_report() != reports {
                    continue;
                }
                *reply = Some(self.handle(command, &mut step));
                if self.gate.pass_trigger() == PassTrigger::Event {
                    self.run_passes(&mut step);
                }
            }
        }
        self.run_passes(&mut step);
        self.report_counts(&mut step);
        self.succeeded.clear();
        step.results = replies.into_iter().flatten().collect();
        step
    }

    /// What a job handed in at `at` would be told. Binds nothing and changes nothing.
    pub fn quote(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        let at = self.now.max(at);
        self.evaluate(at, submission)
    }

    /// When to step at the latest although nothing happens outside.
    pub fn next_wake(&self) -> Option<Instant> {
        let lapse = self.jobs.next_expiry().map(|(lapses, _)| lapses);
        self.gate.next_wake().into_iter().chain(lapse).min()
    }

    /// The last instant at which anything was handled.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The gate, to look into.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The rules it decides by.
    pub fn rules(&self) -> &AdmissionRules {
        &self.rules
    }

    /// All that it knows, to be stored.
    pub fn save(&mut self) -> CoreSnapshot {
        CoreSnapshot {
            gate: self.gate.save(self.now),
            jobs: self.jobs.clone(),
            forecaster: self.forecaster.clone(),
            classes: self.classes.clone().into_iter().collect(),
            now: self.now,
            shadow: self.shadow.as_mut().map(|shadow| shadow.save()),
        }
    }

    /// The service that was saved. The rules must be those that it was saved under, but for the policy
    /// on paper: another one begins now.
    pub fn restore(saved: CoreSnapshot, rules: AdmissionRules) -> Self {
        let policy = rules.policy.build(rules.market);
        let mut gate = Gate::restore(saved.gate, policy, rules.market, saved.now);
        gate.set_task_limit(Some(rules.max_resident));
        let known = saved.shadow.zip(rules.shadow.as_ref());
        let known = known.and_then(|(saved, policy)| ShadowPolicy::restore(saved, policy, &rules));
        let mut core = Self {
            gate,
            jobs: saved.jobs,
            forecaster: saved.forecaster,
            classes: saved.classes.into_iter().collect(),
            now: saved.now,
            shadow: known.map(Box::new),
            ..Self::new(rules)
        };
        if core.shadow.is_none() {
            core.start_shadow();
        }
        core
    }

    fn start_shadow(&mut self) {
        let policy = self.rules.shadow.clone();
        self.shadow = policy.map(|policy| Box::new(ShadowPolicy::start(&policy, self)));
    }

    /// What the policy on paper would have done by `at`, beside what was done; none if there is no
    /// such policy.
    pub fn comparison(&mut self, at: Instant) -> Option<PolicyComparison> {
        let at = self.now.max(at);
        self.shadow.as_mut().map(|shadow| shadow.compare(at))
    }

    fn handle(&mut self, command: &ServiceCommand, step: &mut StepOutput) -> CommandResult {
        let done = match command {
            ServiceCommand::Submit(submission) => return self.submit(submission, step),
            ServiceCommand::Report {
                attempt,
                progress: fate,
            } => self.report(*attempt, fate, step),
            ServiceCommand::Claim { job } => self.claim(*job, step),
            ServiceCommand::Cancel { job, tasks } => self.cancel(*job, tasks.as_ref(), step),
            ServiceCommand::Hold { job, tasks } => {
                self.hold_or_release(*job, tasks.as_ref(), true, step)
            }
            ServiceCommand::Release { job, tasks } => {
                self.hold_or_release(*job, tasks.as_ref(), false, step)
            }
            &ServiceCommand::WorkerUp {
                worker,
                incarnation: epoch,
                nodes,
                memory,
            } => self.apply_input(
                GateInput::WorkerUp {
                    worker,
                    incarnation: epoch,
                    nodes,
                    memory,
                },
                step,
            ),
            &ServiceCommand::WorkerLost {
                worker,
                incarnation: epoch,
            } => self.lose_worker(worker, epoch, step),
            ServiceCommand::Tick => self.apply_input(GateInput::Tick, step),
        };
        match done {
            Ok(()) => CommandResult::Done,
            Err(ignored) => CommandResult::Ignored(ignored),
        }
    }

    fn report(
        &mut self,
        key: TaskAttemptKey,
        fate: &AttemptProgress,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self
            .jobs
            .get_mut(key.task())
            .filter(|live| live.is_current_attempt(key));
        let live = live.ok_or(CommandError::Gate(tollgate_gate::InputError::StaleAttempt))?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        if let AttemptProgress::Ended { status, .. } = fate {
            live.exit_code = Some(status.shell_code());
        }
        step.changes.push(RowChange::AttemptProgressed {
            attempt: key,
            progress: fate.clone(),
        });
        match *fate {
            AttemptProgress::Started { .. } => Ok(()),
            AttemptProgress::Ended { wall, .. } => {
                self.observe_runtime(key.task(), wall);
                self.apply_input(GateInput::Ended { job, attempt }, step)
            }
            AttemptProgress::Lost { .. } => {
                self.apply_input(GateInput::Evicted { job, attempt }, step)
            }
        }
    }

    /// A job that its user took back says nothing about how long such jobs take.
    fn observe_runtime(&mut self, task: TaskKey, runtime: Span) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        if self.gate.view(self.now).job(live.slot).cancelling {
            return;
        }
        let record = tollgate_forecast::CompletedJob {
            job: live.forecast_features(),
            submit: live.spec.submit,
            finish: self.now,
            runtime,
        };
        // One that never ran teaches nothing, and that is no error here.
        let _ = self.forecaster.learn(&record, live.forecast.forecast());
    }

    fn apply_input(&mut self, input: GateInput, step: &mut StepOutput) -> Result<(), CommandError> {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.apply_effects(step);
        answer.map(|_| ()).map_err(CommandError::Gate)
    }

    /// What is put before the gate for what a pass did may be started in another one.
    fn run_passes(&mut self, step: &mut StepOutput) {
        loop {
            self.gate.run_pass(self.now, &mut self.effects);
            self.apply_effects(step);
            let decided = self.decide_released(step);
            if !self.materialise_tasks(step) && !decided {
                return;
            }
        }
    }
}
