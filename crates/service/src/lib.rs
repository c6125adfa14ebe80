//! The service without its input and output: a state machine that takes commands and returns rows
//! to store, replies and actions.
//!
//! [`Core::step`] is the only way to change the state. It reads no clock, file or socket, so the
//! same commands at the same instants lead to the same state and the same replies. Recovery after a
//! crash therefore replays the stored commands, and tests can simulate the whole service.
//!
//! | module | contents |
//! |---|---|
//! | `clock` | the clock of the service, which the host's clock cannot set back |
//! | `command`, `output` | the commands; the rows, replies and actions that a step returns |
//! | `submit`, `array`, `dependency`, `hold` | the acceptance of single, array, dependent, later and held jobs, and of quotes |
//! | `early_tasks` | tasks of arrays that are cancelled, held or released before the decision about their array |
//! | `admission`, `counter_offer` | the decision about a submission, and the nearest one that would be accepted |
//! | `alter` | changes to jobs that wait |
//! | `grant` | exceptions from the shares of users |
//! | `promise` | the endings of promises: kept, broken, void |
//! | `prediction`, `runtime_forecast` | the expected starts and ends of jobs, and the forecasts behind them |
//! | `work` | the work of attempts |
//! | `at_risk` | promises whose chance to be kept is low |
//! | `late_start` | attempts whose program the engine has not started yet |
//! | `cut_short` | runs that the end of their host cuts short |
//! | `launch_retry` | attempts that the site could not launch, which are tried again |
//! | `retry` | failed tasks that are tried again, as their users want it |
//! | `learning` | what is learned from the ends of jobs and from records, and beliefs taken anew |
//! | `jobs`, `task_ranges` | the unfinished jobs, and sets of task numbers |
//! | `unfinished` | the numbers of unfinished jobs and tasks, of all users and of each |
//! | `job_classes` | the classes of jobs that behave alike, and their labels |
//! | `workers` | the nodes that come and go with their workers |
//! | `effects` | the effects of the gate as rows and actions |
//! | `followers` | tasks of short arrays that the engine gets ahead of time |
//! | `resources` | the names of hosts, devices and licences |
//! | `rules` | the rules under which the service decides |
//! | `takeover` | a change of rules while jobs are unfinished |
//! | `shadow` | a second policy that decides about the same jobs on paper |
//! | `query` | answers to queries, and checks of invariants |

mod admission;
mod alter;
mod array;
mod at_risk;
mod clock;
mod command;
mod counter_offer;
mod cut_short;
mod dependency;
mod early_tasks;
mod effects;
mod followers;
mod grant;
mod hold;
mod job_classes;
mod jobs;
mod late_start;
mod launch_retry;
mod learning;
mod output;
mod prediction;
mod promise;
mod query;
mod resources;
mod retry;
mod rules;
mod runtime_forecast;
mod shadow;
mod submit;
mod takeover;
mod task_ranges;
mod unfinished;
mod work;
mod workers;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tollgate_forecast::LearnedHistory;
use tollgate_gate::{Effect, Gate, GateInput, ProbeScratch, WorkerId};
use tollgate_model::{AttemptEvent, AttemptReport, Instant, Span, UserId};
use tollgate_policy::PassTrigger;

pub use array::{ActiveArray, ArrayOutlook, RunningTask, TaskCounts, TaskGroup};
pub use clock::{ClockReading, ServiceClock};
pub use command::{
    ArraySpec, DependencyCondition, EarlyTasks, JobChange, JobDependency, ServiceCommand,
    Submission, SubmissionOptions,
};
use job_classes::JobClasses;
pub use jobs::ActiveTask;
use jobs::JobTable;
pub use late_start::EngineWait;
pub use launch_retry::{FailedLaunches, MAX_FAILED_LAUNCHES};
pub use learning::{OwnRun, RunRecord};
pub use output::{
    AdmissionState, CommandError, CommandResult, ConfidenceThreshold, CounterOffer, EngineAction,
    EstimateSource, HostMismatch, OfferAxis, PromiseAtRisk, PromiseRisk, RejectReason,
    ResourceShortage, RowChange, StepOutput, SubmitOutcome, TaskDropCause, TaskGroupOutcome,
};
use prediction::LookAheadCache;
pub use resources::{HostNames, HostOffer, NamedResources, ResourceNames};
pub use retry::{BadRetryRule, MAX_RETRIES, RetryRule};
pub use rules::{AdmissionRules, StoredRules};
pub use runtime_forecast::{ForecastBasis, RuntimeForecast};
use shadow::ShadowPolicy;
pub use shadow::{ObjectiveSums, PolicyComparison};
pub use takeover::TakeoverObstacle;
pub use task_ranges::{BadTaskRanges, TaskRanges};
pub use tollgate_gate::JobPrediction;
pub use unfinished::UnfinishedCounts;

/// The worker that is the service's own host.
pub const LOCAL_WORKER: WorkerId = WorkerId(0);

/// Maximum number of quotes reserved for one user at a time: each keeps its nodes from other jobs.
const MAX_RESERVATIONS: usize = 16;

/// The state of the service.
#[derive(Debug)]
pub struct Core {
    rules: AdmissionRules,
    gate: Gate,
    jobs: JobTable,
    history: LearnedHistory,
    /// The digests of the learned records.
    learned_records: BTreeSet<u64>,
    classes: JobClasses,
    resources: ResourceNames,
    host_names: HostNames,
    now: Instant,
    effects: Vec<Effect>,
    scratch: ProbeScratch,
    /// Within a step: jobs that need not wait any more and get their decision now.
    released: Vec<u64>,
    /// Within a step: finished jobs that ended with success, as dependent jobs may require.
    succeeded: BTreeSet<u64>,
    look_ahead: LookAheadCache,
    /// The shadow policy. It follows each step, and no decision reads it.
    shadow: Option<Box<ShadowPolicy>>,
}

/// The serialisable state of a [`Core`]. The rules come from the configuration.
#[derive(Debug, Serialize, Deserialize)]
pub struct CoreSnapshot {
    gate: tollgate_gate::GateSnapshot,
    jobs: JobTable,
    history: LearnedHistory,
    /// The digests of the learned records.
    learned_records: BTreeSet<u64>,
    classes: JobClasses,
    resources: ResourceNames,
    host_names: HostNames,
    now: Instant,
    shadow: Option<shadow::ShadowSnapshot>,
}

impl Core {
    /// Creates an empty service.
    pub fn new(rules: AdmissionRules) -> Self {
        let mut gate = Gate::new(rules.policy.build(rules.market), rules.market);
        gate.set_task_limit(Some(rules.max_resident));
        let mut core = Self {
            gate,
            rules,
            jobs: JobTable::default(),
            history: LearnedHistory::default(),
            learned_records: BTreeSet::new(),
            classes: JobClasses::default(),
            resources: ResourceNames::default(),
            host_names: HostNames::default(),
            now: Instant::ZERO,
            effects: Vec::new(),
            scratch: ProbeScratch::default(),
            released: Vec::new(),
            succeeded: BTreeSet::new(),
            look_ahead: LookAheadCache::default(),
            shadow: None,
        };
        core.believe_default();
        core.start_shadow();
        core
    }

    /// Creates a service without unfinished jobs that goes on at `now`, after the job `last`. It has learned
    /// nothing.
    pub fn going_on(rules: AdmissionRules, last: u64, now: Instant) -> Self {
        let mut core = Self::new(rules);
        core.jobs.number_after(last);
        core.now = now;
        core
    }

    /// Handles the commands that arrived by `at` together. If the wall clock was set back, the step
    /// counts as happening at the last handled instant instead.
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
        // Decisions must not depend on what was asked between steps.
        self.look_ahead.clear();
        let mut step = StepOutput::default();
        self.expire_due(&mut step);
        self.retry_due_launches(&mut step);
        self.recount_engine_waits(&mut step);
        self.release_begun();
        self.withdraw_late(&mut step);
        // A job is probed before its submission to the gate. A due tick comes first, so that the
        // probe sees the current shares.
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
            self.refresh_beliefs(&mut step);
        }
        self.run_passes(&mut step);
        self.add_followers(&mut step);
        self.judge_overdue(&mut step);
        self.look_for_risks(&mut step);
        self.report_counts(&mut step);
        self.follow_tasks();
        self.succeeded.clear();
        step.results = replies.into_iter().flatten().collect();
        step
    }

    /// Returns the outcome that a job submitted at `at` would get. A quote binds nothing and
    /// changes nothing.
    pub fn quote(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        let at = self.now.max(at);
        if submission.options.is_ready() {
            return self.evaluate(at, submission);
        }
        let forecast = self.forecast(submission, None);
        let deferred = self.deferral_outcome(at, submission, &forecast);
        deferred.unwrap_or_else(|| self.evaluate(at, submission))
    }

    /// Returns a quote that, if the job would be promised, names surer promises with their prices.
    pub fn quote_with_levels(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        let at = self.now.max(at);
        let mut answer = self.quote(at, submission);
        if matches!(answer.admission, AdmissionState::Accepted { .. }) {
            let forecast = self.forecast(submission, None);
            answer.offers = self.surer_promises(at, submission, &forecast);
        }
        answer
    }

    /// Returns the latest time of the next step if no command comes.
    pub fn next_wake(&self) -> Option<Instant> {
        let lapse = self.jobs.next_expiry().map(|(lapses, _)| lapses);
        let deadline = self.jobs.next_deadline();
        let follower = self.jobs.next_follower_end();
        let gate = self.gate.next_wake();
        let believes = self.rules.policy.uses_beliefs();
        let revision = self.history.beliefs.next_revision().filter(|_| believes);
        let launch = self.jobs.next_launch_retry();
        let begin = self.jobs.next_begin();
        let recount = self.jobs.next_recount();
        let own = lapse.into_iter().chain(deadline).chain(follower);
        let own = own
            .chain(revision)
            .chain(launch)
            .chain(begin)
            .chain(recount);
        gate.into_iter().chain(own).min()
    }

    /// Returns the last handled instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the gate for queries.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the rules of the decisions.
    pub fn rules(&self) -> &AdmissionRules {
        &self.rules
    }

    /// Returns the whole state, to be stored.
    pub fn save(&mut self) -> CoreSnapshot {
        CoreSnapshot {
            gate: self.gate.save(self.now),
            jobs: self.jobs.clone(),
            history: self.history.clone(),
            learned_records: self.learned_records.clone(),
            classes: self.classes.clone(),
            resources: self.resources.clone(),
            host_names: self.host_names.clone(),
            now: self.now,
            shadow: self.shadow.as_mut().map(|shadow| shadow.save()),
        }
    }

    /// Restores a saved service. The rules must be those of the save, except for the shadow policy:
    /// another one begins now.
    pub fn restore(saved: CoreSnapshot, rules: AdmissionRules) -> Self {
        let policy = rules.policy.build(rules.market);
        let mut gate = Gate::restore(saved.gate, policy, rules.market, saved.now);
        gate.set_task_limit(Some(rules.max_resident));
        let known = saved.shadow.zip(rules.shadow.as_ref());
        let known = known.and_then(|(saved, policy)| ShadowPolicy::restore(saved, policy, &rules));
        let mut core = Self {
            gate,
            jobs: saved.jobs,
            history: saved.history,
            learned_records: saved.learned_records,
            classes: saved.classes,
            resources: saved.resources,
            host_names: saved.host_names,
            now: saved.now,
            shadow: known.map(Box::new),
            ..Self::new(rules)
        };
        core.believe_default();
        if core.shadow.is_none() {
            core.start_shadow();
        }
        core
    }

    /// Passes the setting for jobs without a request to the beliefs.
    fn believe_default(&mut self) {
        let default = self.rules.default_estimate;
        self.history.beliefs.set_default_runtime(default);
    }

    fn start_shadow(&mut self) {
        let policy = self.rules.shadow.clone();
        self.shadow = policy.map(|policy| Box::new(ShadowPolicy::start(&policy, self)));
    }

    /// Returns the comparison of the shadow policy with the real one as of `at`; None without a
    /// shadow policy.
    pub fn comparison(&mut self, at: Instant) -> Option<PolicyComparison> {
        let at = self.now.max(at);
        self.shadow.as_mut().map(|shadow| shadow.compare(at))
    }

    fn handle(&mut self, command: &ServiceCommand, step: &mut StepOutput) -> CommandResult {
        let done = match command {
            ServiceCommand::Submit(submission) => return self.submit(submission, step),
            ServiceCommand::Learn { records } => return self.learn_records(records),
            ServiceCommand::Alter { job, change } => {
                let done = self.alter(*job, change, step);
                return done.unwrap_or_else(CommandResult::Ignored);
            }
            ServiceCommand::Report(report) => self.report(report, step),
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
                incarnation,
                nodes,
                memory,
                ref offer,
            } => {
                let terms = self.host_terms(offer);
                let input = GateInput::WorkerUp {
                    worker,
                    incarnation,
                    nodes,
                    memory,
                    terms,
                };
                self.apply_input(input, step)
            }
            ServiceCommand::Grant { job, by, reason } => self.grant(*job, *by, reason, step),
            ServiceCommand::SetLicences { licences } => self.set_licences(licences, step),
            &ServiceCommand::WorkerLost {
                worker,
                incarnation: epoch,
            } => self.lose_worker(worker, epoch, step),
            &ServiceCommand::WorkerCloses {
                worker,
                incarnation,
                closes,
            } => {
                self.withdraw_all(step);
                self.move_closing((worker, incarnation), closes, step)
            }
            &ServiceCommand::Drain { worker, drained } => {
                self.withdraw_all(step);
                self.apply_input(GateInput::Drain { worker, drained }, step)
            }
            ServiceCommand::Maintain { calendar } => {
                self.withdraw_all(step);
                self.gate.set_maintenance(self.now, calendar.clone());
                self.apply_input(GateInput::Tick, step)
            }
            ServiceCommand::WeighUsers { weights } => {
                let weights = weights.iter().map(|&(user, weight)| (UserId(user), weight));
                self.gate.set_user_weights(self.now, weights.collect());
                self.apply_input(GateInput::Tick, step)
            }
            ServiceCommand::Tick => self.apply_input(GateInput::Tick, step),
        };
        match done {
            Ok(()) => CommandResult::Done,
            Err(ignored) => CommandResult::Ignored(ignored),
        }
    }

    fn report(
        &mut self,
        report: &AttemptReport,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let key = report.attempt;
        let follower = self.jobs.get(key.task());
        let follower = follower.filter(|live| live.next_attempt_key(key.task()) == key);
        if let Some(follower) = follower.and_then(|live| live.follows) {
            return self.report_follower(report, follower, step);
        }
        let live = self
            .jobs
            .get_mut(key.task())
            .filter(|live| live.is_current_attempt(key));
        let live = live.ok_or(CommandError::Gate(tollgate_gate::InputError::StaleAttempt))?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        let is_followed = self.jobs.follower_of(key).is_some();
        let view = self.gate.view(self.now);
        let nodes = is_followed.then(|| view.job(job).placement().to_vec());
        let live = self
            .jobs
            .get_mut(key.task())
            .ok_or(CommandError::UnknownJob)?;
        if let AttemptEvent::Ended(ended) = &report.event
            && !ended.is_withdrawn()
            && !ended.is_failed_launch_of_site()
        {
            live.wait_code = Some(ended.wait_code());
            live.ending = Some(ended.ending(live.limit_owners()));
        }
        let hold = std::mem::take(&mut live.hold_if_withdrawn);
        let ordered = live.ordered().unwrap_or(self.now);
        let dated = clock::dated_within(report, ordered, self.now);
        step.changes.push(RowChange::AttemptReported(dated));
        let done = match &report.event {
            AttemptEvent::Started(start) => {
                live.failed_launches = 0;
                let at = start.at.max(ordered).min(self.now);
                self.note_program_start(key.task(), at, step);
                return Ok(());
            }
            AttemptEvent::Ended(ended) if ended.is_withdrawn() => {
                self.return_started(key.task(), hold, step)
            }
            AttemptEvent::Ended(ended) if ended.is_failed_launch_of_site() => {
                self.retry_launch(key.task(), hold, step)
            }
            AttemptEvent::Ended(ended) => {
                if ended.killed.is_none() {
                    self.count_pace(key.task(), ended.wall);
                }
                let live = self.jobs.get(key.task());
                let work = live.map_or(Span::ZERO, |live| self.work_within(live, ended.wall));
                step.changes
                    .push(RowChange::WorkMeasured { attempt: key, work });
                if let Some(ending) = live.and_then(|live| live.ending) {
                    self.learn_end(key.task(), ending, work);
                }
                match self.is_retried(key.task()) {
                    true => self.retry_failed(key.task(), hold, step),
                    false => self.apply_input(GateInput::Ended { job, attempt }, step),
                }
            }
            AttemptEvent::Lost { .. } => {
                self.learn_loss(key.task());
                self.apply_input(GateInput::Evicted { job, attempt }, step)
            }
        };
        if let Some(nodes) = nodes {
            self.begin_follower(key, &nodes, step);
        }
        done
    }

    fn apply_input(&mut self, input: GateInput, step: &mut StepOutput) -> Result<(), CommandError> {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.apply_effects(step);
        answer.map(|_| ()).map_err(CommandError::Gate)
    }

    /// Repeats the gate's passes until nothing changes: jobs that are submitted after one pass may
    /// start in the next.
    fn run_passes(&mut self, step: &mut StepOutput) {
        self.refresh_beliefs(step);
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
