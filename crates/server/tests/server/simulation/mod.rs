//! A run of the simulation.

mod checks;
pub(crate) mod clock;
pub(crate) mod engine;
pub(crate) mod faults;
pub(crate) mod lies;
pub(crate) mod random;

use std::cell::Ref;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use clock::SkewedClock;
use engine::{AckTrackingEngine, AcknowledgedAttempts};
use faults::{ServiceFaults, SimulatedCrash, fault_injector};
use lies::Liar;
use random::SplitMix;
use tokio::sync::oneshot;
use tollgate_engine::sim_engine::{SimFaults, SimProgram};
use tollgate_engine::{Engine, LaunchSpec, SimHost};
use tollgate_gate::OnEviction;
use tollgate_model::{
    AttemptId, Credits, CreditsPerSecond, Instant, LaunchFailure, Market, Otherwise, Span,
};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_server::controller::{
    Controller, ControllerRequest, NewJob, RequestError, RequestedBegin, RequestedTimes,
    SubmittedJob,
};
use tollgate_service::{
    AdmissionRules, AdmissionState, ArraySpec, DependencyCondition, EngineAction, JobChange,
    JobDependency, NamedResources, ServiceCommand, Submission, SubmissionOptions, TaskRanges,
};
use tollgate_store::{Store, StoreError};

use crate::common::store_view::{StoreView, StoreViewCache};
use crate::common::{program, rules, submission};

/// Number of steps in a run.
const STEPS: u32 = 80;

/// Maximum number of minutes until every job is finished: an array has tasks for each of them.
const DRAIN_ROUNDS: u32 = 4_000;

/// Seconds for which the service gets no request.
const SILENT_S: i64 = 10;

/// The time after its order at which a run is counted anew if its program has not started.
const COUNTED_ANEW: Span = Span::from_secs(30);

/// How long reports of short tasks may wait for each other.
const REPORT_DELAY: Span = Span::from_micros(10_000);
/// A bit more than the time after which a failed call of the engine is tried again.
const ENGINE_RETRY: Span = Span::from_micros(1_100_000);

/// By how much the service's clock may fall behind in a second while the host's is behind it.
const MAX_LAG_US: i64 = 1_100;

pub(crate) struct ServiceSimulation {
    random: SplitMix,
    data_dir: tempfile::TempDir,
    world: SimHost,
    rules: AdmissionRules,
    controller: Option<Controller<AckTrackingEngine>>,
    view: StoreViewCache,
    acknowledged: AcknowledgedAttempts,
    clock: Arc<Mutex<SkewedClock>>,
    faults: Arc<Mutex<ServiceFaults>>,
    liars: Liar,
    /// Jobs that were admitted (true) or queued (false).
    acknowledged_jobs: BTreeMap<u64, bool>,
    /// Jobs with a deadline given as an instant, and that instant.
    requested_due: BTreeMap<u64, Instant>,
    /// The jobs for which another deadline was asked later.
    altered_jobs: BTreeSet<u64>,
    /// Quotes that were reserved.
    reserved_quotes: BTreeSet<u64>,
    /// Whether arrays of short tasks are submitted as well.
    has_short_tasks: bool,
    crashes: u32,
    /// The number of ticks after which a task was to follow another one.
    followed: u32,
    /// The number of steps after which a program had not started long after its order.
    late: u32,
}

type WaitReceivers = (
    Vec<(
        Option<Instant>,
        oneshot::Receiver<Result<SubmittedJob, RequestError>>,
    )>,
    Vec<(
        Option<Instant>,
        oneshot::Receiver<Result<(Option<u64>, tollgate_service::SubmitOutcome), RequestError>>,
    )>,
);

impl ServiceSimulation {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let named = &BUILTIN_POLICIES[random.below(BUILTIN_POLICIES.len() as u64) as usize];
        let market = named.markets[random.below(named.markets.len() as u64) as usize];
        let others: Vec<&str> = BUILTIN_POLICIES
            .iter()
            .filter(|other| other.markets.contains(&market))
            .map(|other| other.name)
            .collect();
        let shadow = random.pick(&others).filter(|_| random.one_in(2));
        let shadow = shadow.map(|name| builtin_registry().named(name).unwrap());
        let rules = AdmissionRules {
            shadow,
            ..rules(named.name, market)
        };
        Self::with_rules(random, rules)
    }

    fn with_rules(random: SplitMix, rules: AdmissionRules) -> Self {
        let memory = Path::new("/dev/shm");
        let data_dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let mut run = Self {
            random,
            data_dir: data_dir.expect("a folder"),
            world: SimHost::new(3, 1 << 30, program_of),
            rules,
            controller: None,
            view: StoreViewCache::default(),
            acknowledged: AcknowledgedAttempts::default(),
            clock: Arc::default(),
            faults: Arc::default(),
            liars: Liar::default(),
            acknowledged_jobs: BTreeMap::new(),
            requested_due: BTreeMap::new(),
            altered_jobs: BTreeSet::new(),
            reserved_quotes: BTreeSet::new(),
            has_short_tasks: false,
            crashes: 0,
            followed: 0,
            late: 0,
        };
        run.world.set_devices([("gpu".to_owned(), 2)].into());
        run.restart();
        run
    }

    /// Creates a run with arrays of short tasks under a policy that lets tasks follow each other.
    pub(crate) fn of_short_tasks(seed: u64) -> Self {
        let policies = [
            "easy",
            "plan",
            "fcfs",
            "conservative",
            "edf-bf",
            "libra-risk",
            "tail-risk",
        ];
        let name = policies[seed as usize % policies.len()];
        let rules = rules(name, Market::None);
        Self {
            has_short_tasks: true,
            ..Self::with_rules(SplitMix::new(seed), rules)
        }
    }

    /// Creates a run on an engine with a queue, where programs start late, and later than usual. Such an engine gives
    /// jobs no shares of processors.
    pub(crate) fn behind_a_queue(seed: u64) -> Self {
        let policies = ["plan", "easy", "fcfs", "conservative", "edf-bf"];
        let mut random = SplitMix::new(seed);
        let name = random.pick(&policies).expect("a policy");
        let usual = Span::from_secs(1 + random.below(9) as i64);
        let rules = AdmissionRules {
            start_delay: usual,
            ..rules(name, Market::None)
        };
        let run = Self::with_rules(random, rules);
        run.world.set_start_delay(usual);
        run
    }

    /// Returns the number of steps after which a program had not started long after its order.
    pub(crate) fn run_late(mut self) -> u32 {
        self.run_steps();
        self.late
    }

    /// Returns the number of ticks after which a task was to follow another one.
    pub(crate) fn run_followed(mut self) -> u32 {
        self.run_steps();
        self.followed
    }

    /// Runs all steps, then ends all faults and waits until every job is finished. Returns the
    /// number of crashes.
    pub(crate) fn run(mut self) -> u32 {
        self.run_steps();
        self.crashes
    }

    fn run_steps(&mut self) {
        for _ in 0..STEPS {
            self.step();
            checks::invariants(self);
            let actions = self.controller().core().running_actions();
            let is_follower = |action: &EngineAction| {
                matches!(action, EngineAction::Start { after: Some(_), .. })
            };
            self.followed += u32::from(actions.iter().any(is_follower));
            self.late += u32::from(self.has_late_start());
        }
        self.world.set_faults(SimFaults::default());
        self.world.set_start_delay(self.rules.start_delay);
        self.liars.lie(None);
        *self.faults.lock().unwrap() = ServiceFaults::default();
        self.restart();
        self.drain();
        checks::invariants(self);
        checks::everything_is_over(self);
    }

    fn step(&mut self) {
        if self.has_short_tasks && self.random.one_in(2) {
            match self.random.one_in(4) {
                true => self.submit_short_tasks(),
                false => {
                    let micros = self.random.below(100_000) as i64;
                    self.advance(Span::from_micros(micros));
                }
            }
            return;
        }
        match self.random.below(18) {
            0..4 => self.submit(),
            4..8 => {
                let micros = self.random.below(20_000_000) as i64;
                self.advance(Span::from_micros(micros));
            }
            8 => self.act(),
            9 => self.lose(),
            10 => self.disturb_engine(),
            11 => self.set_clock(),
            12 => {
                let mut faults = self.faults.lock().unwrap();
                faults.draw_disk(&mut self.random);
            }
            13 => {
                let moments = self.random.below(12) as u32;
                self.faults.lock().unwrap().crash_in = Some(moments);
            }
            14 => self.crash(),
            15 => self.stay_silent(),
            16 => {
                let lies = self.random.one_in(2);
                self.liars.lie(lies.then(|| self.random.split()));
            }
            _ => self.catch_crash(|controller| controller.write_snapshot()),
        }
        self.tick(Vec::new());
    }

    /// Sets the host's clock, back or forth.
    fn set_clock(&mut self) {
        self.clock.lock().unwrap().off = clock::draw_error(&mut self.random);
    }

    /// Sets the clock and lets a call of the engine fail, and then sends no request: all that is to run runs
    /// all the same.
    fn stay_silent(&mut self) {
        self.set_clock();
        *self.faults.lock().unwrap() = ServiceFaults::default();
        self.world.set_faults(SimFaults {
            fail_before: self.random.below(2) as u32,
            fail_after: self.random.below(2) as u32,
            ..SimFaults::default()
        });
        self.submit();
        self.clock.lock().unwrap().set_in = None;
        let began = self.service_now();
        for _ in 0..SILENT_S {
            self.advance(Span::from_secs(1));
        }
        let counted = self.service_now().since(began);
        let least = Span::from_secs(SILENT_S) - Span::from_micros(SILENT_S * MAX_LAG_US);
        assert!(counted >= least, "{counted:?} of {SILENT_S} s");
        // Reports of attempts that have just ended may wait, and the calls that fail may be the last ones, as
        // of a start that is ordered now. Each is tried again after its delay.
        let mut stuck = checks::not_running(self);
        for pause in [REPORT_DELAY + REPORT_DELAY, ENGINE_RETRY, ENGINE_RETRY] {
            if stuck.is_empty() {
                break;
            }
            self.advance(pause);
            let still = checks::not_running(self);
            stuck.retain(|attempt| still.contains(attempt));
        }
        assert_eq!(stuck, BTreeSet::new(), "these are not started");
    }

    fn service_now(&mut self) -> Instant {
        self.controller.as_mut().expect("a controller").now()
    }

    /// Advances the time and runs a tick of the service.
    fn advance(&mut self, span: Span) {
        let until = self.world.now() + span;
        self.world.advance_to(until);
        self.tick(Vec::new());
    }

    fn submit(&mut self) {
        let mut requests = Vec::new();
        let mut waiting: WaitReceivers = (Vec::new(), Vec::new());
        for _ in 0..=self.random.below(3) {
            let (mut submission, secs) = self.job();
            let due = self.due(&submission);
            let begin = self.begin(&submission);
            let times = RequestedTimes { due, begin };
            let mut program = Box::new(match self.random.one_in(6) {
                true => program(&["unlucky", &secs.to_string()]),
                false => program(&["work", &secs.to_string()]),
            });
            if submission.reserve_for.is_some() {
                // Its program comes with the claim.
                submission.options.retries = None;
            }
            program.retries.clone_from(&submission.options.retries);
            if submission.reserve_for.is_some() {
                let (reply, answer) = oneshot::channel();
                waiting.1.push((due, answer));
                requests.push(ControllerRequest::Reserve {
                    submission,
                    times,
                    reply,
                });
            } else {
                let (reply, answer) = oneshot::channel();
                waiting.0.push((due, answer));
                requests.push(ControllerRequest::submit(NewJob {
                    submission,
                    times,
                    program,
                    reply,
                }));
            }
        }
        if self.random.one_in(3) {
            let looks = self.random.below(6) as u32;
            let off = clock::draw_error(&mut self.random);
            self.clock.lock().unwrap().set_in = Some((looks, off));
        }
        self.tick(requests);
        // Responses of a service that has crashed since count too.
        for (due, mut answer) in waiting.0 {
            if let Ok(Ok(verdict)) = answer.try_recv() {
                if let Some(due) = due {
                    let promised = verdict.answer.spec.due().expect("a deadline");
                    assert!(promised <= due, "job {}: a later deadline", verdict.job);
                    self.requested_due.insert(verdict.job, due);
                }
                match verdict.answer.admission {
                    AdmissionState::Accepted { .. } => {
                        self.acknowledged_jobs.insert(verdict.job, true);
                    }
                    AdmissionState::Queued
                    | AdmissionState::Waitlisted { .. }
                    | AdmissionState::Unpromised(_)
                    | AdmissionState::Deferred => {
                        self.acknowledged_jobs.insert(verdict.job, false);
                    }
                    AdmissionState::Rejected(_) => {}
                }
            }
        }
        for (due, mut answer) in waiting.1 {
            if let Ok(Ok((Some(job), _))) = answer.try_recv() {
                self.requested_due.extend(due.map(|due| (job, due)));
                self.acknowledged_jobs.insert(job, true);
                self.reserved_quotes.insert(job);
            }
        }
    }

    /// Submits an array of tasks that run for some milliseconds, and some of them for seconds.
    fn submit_short_tasks(&mut self) {
        let tasks = TaskRanges::new(1, 10 + self.random.below(60) as u32);
        let millis = 1 + self.random.below(20);
        let options = SubmissionOptions {
            array: Some(ArraySpec {
                tasks,
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        };
        let submission = Submission {
            procs: 1 + self.random.below(8) as u32 / 6,
            retry: match self.random.one_in(2) {
                true => OnEviction::Requeue,
                false => OnEviction::Fail,
            },
            deadline: None,
            options,
            ..submission("short", 5)
        };
        let (reply, mut answer) = oneshot::channel();
        self.tick(vec![ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program: Box::new(program(&["short", &millis.to_string()])),
            reply,
        })]);
        if let Ok(Ok(verdict)) = answer.try_recv() {
            self.acknowledged_jobs.insert(verdict.job, false);
        }
    }

    fn job(&mut self) -> (Submission, u64) {
        let random = &mut self.random;
        let secs = 1 + random.below(40);
        let guess = 1 + random.below(60) as i64;
        let submission = Submission {
            procs: 1 + random.below(3) as u32,
            estimate: (!random.one_in(4)).then(|| Span::from_secs(guess)),
            deadline: (!random.one_in(5)).then(|| Span::from_secs(1 + random.below(300) as i64)),
            budget: (!random.one_in(3)).then(|| Credits::from_f64(random.below(400) as f64)),
            penalty: CreditsPerSecond::from_f64(random.below(3) as f64 * 0.1),
            retry: if random.one_in(2) {
                OnEviction::Requeue
            } else {
                OnEviction::Fail
            },
            reserve_for: random
                .one_in(6)
                .then(|| Span::from_secs(1 + random.below(60) as i64)),
            options: SubmissionOptions::default(),
            ..submission("work", guess)
        };
        let plan = self.plan();
        let hold = submission
            .reserve_for
            .filter(|_| plan == SubmissionOptions::default());
        (
            Submission {
                reserve_for: hold,
                options: plan,
                ..submission
            },
            secs,
        )
    }

    /// Returns an instant as deadline in half of the cases, by the clock that the user sees.
    fn due(&mut self, submission: &Submission) -> Option<Instant> {
        let deadline = submission.deadline?;
        let now = self.clock.lock().unwrap().read(self.world.now()).host;
        self.random.one_in(2).then(|| now + deadline)
    }

    /// Lets some jobs begin later, well before their deadlines.
    fn begin(&mut self, submission: &Submission) -> Option<RequestedBegin> {
        let may_begin_later = submission.reserve_for.is_none() && self.random.one_in(8);
        let most_s = submission
            .deadline
            .map_or(200, |left| left.as_micros() / 4_000_000);
        may_begin_later.then(|| {
            let span = Span::from_secs(1 + self.random.below(most_s.max(1) as u64) as i64);
            let now = self.clock.lock().unwrap().read(self.world.now()).host;
            match self.random.one_in(2) {
                true => RequestedBegin::After(span),
                false => RequestedBegin::At(now + span),
            }
        })
    }

    /// Makes some jobs an array, dependent or held.
    fn plan(&mut self) -> SubmissionOptions {
        let random = &mut self.random;
        let array = random.one_in(4).then(|| {
            let first = random.below(3) as u32;
            let tasks = TaskRanges::new(first, first + random.below(12) as u32);
            let max = random.one_in(3).then(|| 1 + random.below(4) as u32);
            ArraySpec {
                tasks,
                max_at_once: max,
            }
        });
        let earlier: Vec<u64> = self.acknowledged_jobs.keys().copied().collect();
        let mut after = Vec::new();
        while random.one_in(5)
            && let Some(job) = random.pick(&earlier)
        {
            let need = match random.one_in(2) {
                true => DependencyCondition::Success,
                false => DependencyCondition::AnyEnd,
            };
            after.push(JobDependency {
                job,
                condition: need,
            });
        }
        let held = random.one_in(10);
        let partial = array.is_some() && random.one_in(3);
        let by_host = self.rules.policy.chooses_hosts();
        let otherwise = match random.below(3) {
            0 => Otherwise::Wait,
            1 => Otherwise::Run,
            _ => Otherwise::Reject,
        };
        SubmissionOptions {
            array,
            dependencies: after,
            begin: None,
            held,
            submitted: None,
            otherwise,
            drop_late: random.one_in(6),
            partial,
            time_limit: (random.one_in(5)).then(|| Span::from_secs(1 + random.below(60) as i64)),
            one_host: by_host && random.one_in(8),
            host: None,
            resources: match random.below(if by_host { 8 } else { 64 }) {
                0 => [("gpu".to_owned(), 1 + random.below(3) as u8)].into(),
                1 => [("matlab".to_owned(), 1)].into(),
                _ => NamedResources::new(),
            },
            retries: (random.one_in(6)).then(|| "2:failed,timed_out".parse().unwrap()),
            early: Default::default(),
        }
    }

    /// Cancels, holds, releases or claims a job.
    fn act(&mut self) {
        let jobs: Vec<u64> = self.acknowledged_jobs.keys().copied().collect();
        let Some(job) = self.random.pick(&jobs) else {
            return;
        };
        let user = rustix::process::geteuid().as_raw();
        let (reply, _answer) = oneshot::channel();
        let tasks = self.random.one_in(2).then(|| {
            let first = self.random.below(10) as u32;
            TaskRanges::new(first, first + self.random.below(4) as u32)
        });
        let array = self.controller().core().array(job).is_some();
        let tasks = tasks.filter(|_| array);
        let command = match self.random.below(7) {
            6 => ServiceCommand::Grant {
                job,
                by: user,
                reason: "a test".to_owned(),
            },
            5 => {
                let drained = self.random.one_in(3);
                return self.tick(vec![ControllerRequest::Drain {
                    worker: None,
                    drained,
                    reply: oneshot::channel().0,
                }]);
            }
            4 => {
                let secs = 1 + self.random.below(60) as i64;
                let deadline = self.random.one_in(3).then(|| match secs {
                    ..6 => None,
                    secs => Some(Span::from_secs(5 * secs)),
                });
                if deadline.is_some() {
                    self.requested_due.remove(&job);
                    self.altered_jobs.insert(job);
                }
                let change = JobChange {
                    estimate: Some(Span::from_secs(secs)),
                    deadline,
                    ..JobChange::default()
                };
                return self.tick(vec![ControllerRequest::Alter {
                    user: Some(user),
                    job,
                    change,
                    due: None,
                    reply: oneshot::channel().0,
                }]);
            }
            0 => ServiceCommand::Cancel { job, tasks },
            1 => ServiceCommand::Hold { job, tasks },
            2 => ServiceCommand::Release { job, tasks },
            _ => {
                let program = Box::new(program(&["work", "5"]));
                let quoted: Vec<u64> = self.reserved_quotes.iter().copied().collect();
                let job = self.random.pick(&quoted).unwrap_or(job);
                return self.tick(vec![ControllerRequest::Claim {
                    user,
                    job,
                    program,
                    reply,
                }]);
            }
        };
        let user = Some(user);
        self.tick(vec![ControllerRequest::Command {
            user,
            command,
            reply,
        }]);
    }

    /// Loses one running attempt, or all of them with their host.
    fn lose(&mut self) {
        let running: Vec<AttemptId> = self.core_running();
        let all = self.random.one_in(3);
        let one = self.random.pick(&running);
        for attempt in running {
            if all || Some(attempt) == one {
                self.world.mark_lost(attempt);
            }
        }
    }

    fn core_running(&self) -> Vec<AttemptId> {
        let actions = self.controller().core().running_actions();
        let attempts = actions.into_iter().filter_map(|order| match order {
            EngineAction::Start { attempt, .. } => Some(AttemptId {
                job: attempt.job,
                task: attempt.task,
                attempt: attempt.attempt,
            }),
            EngineAction::SetShare { .. }
            | EngineAction::Kill { .. }
            | EngineAction::Withdraw { .. }
            | EngineAction::Continued { .. } => None,
        });
        attempts.collect()
    }

    fn disturb_engine(&mut self) {
        let late = self.random.below(10) as i64;
        self.world.set_faults(SimFaults {
            fail_before: self.random.below(3) as u32,
            fail_after: self.random.below(3) as u32,
            double_reports: self.random.one_in(2),
            report_delay: Span::from_secs(late),
        });
        if self.rules.start_delay > Span::ZERO {
            let waits = self.random.below(300) as i64;
            self.world.set_start_delay(Span::from_secs(waits));
        }
        if self.random.one_in(2) {
            // Faults that occur in the same tick, one after the other.
            self.submit();
            self.lose();
        }
    }

    /// Returns whether a program has not started for so long that its run is counted anew.
    fn has_late_start(&self) -> bool {
        let core = self.controller().core();
        let now = core.now();
        let jobs = core.jobs().into_keys();
        jobs.filter_map(|job| core.job(job)).any(|live| {
            let wait = live.engine_wait;
            wait.is_some_and(|wait| now.since(wait.ordered) > COUNTED_ANEW)
        })
    }

    fn crash(&mut self) {
        self.crashes += 1;
        self.restart();
    }

    /// Kills the service and starts it again; the start may crash as well.
    fn restart(&mut self) {
        let before = self.rules.clone();
        self.change_policy();
        self.controller = None;
        self.view.close();
        while self.controller.is_none() {
            let store = Store::open(&self.store()).expect("the store opens");
            let engine = AckTrackingEngine::open(&self.world, &self.acknowledged);
            let engine = engine.lying(&self.liars);
            let (world, clock) = (self.world.clone(), Arc::clone(&self.clock));
            let now = Box::new(move || clock.lock().unwrap().read(world.now()));
            let mut controller = match Controller::new(store, engine, &self.rules, now) {
                Ok(controller) => controller,
                // What was written last, before the crash, stands against the other policy.
                Err(StoreError::OtherRules { .. }) if before != self.rules => {
                    self.rules = before.clone();
                    continue;
                }
                Err(error) => panic!("it does not recover: {error}"),
            };
            if self.has_short_tasks {
                controller.delay_reports(REPORT_DELAY);
            }
            controller.inject_faults(fault_injector(&self.faults));
            let begun = catch_unwind(AssertUnwindSafe(|| controller.reconcile().is_ok()));
            match begun {
                Ok(true) => {
                    self.controller = Some(controller);
                    self.tick(vec![ControllerRequest::SetLicences {
                        licences: [("matlab".to_owned(), 1)].into(),
                    }]);
                }
                // The engine or the disk failed; the next start may succeed.
                Ok(false) => {}
                Err(what) if what.is::<SimulatedCrash>() => self.crashes += 1,
                Err(what) => resume_unwind(what),
            }
        }
    }

    /// Sometimes names another policy for the next start, if nothing stands against it.
    fn change_policy(&mut self) {
        let Some(controller) = self.controller.as_ref() else {
            return;
        };
        let in_market =
            |other: &&tollgate_policy::PolicyDefinition| other.markets.contains(&self.rules.market);
        let others: Vec<&str> = BUILTIN_POLICIES
            .iter()
            .filter(in_market)
            .map(|other| other.name)
            .collect();
        let other = self.random.pick(&others).filter(|_| self.random.one_in(3));
        if let Some(name) = other {
            let policy = builtin_registry().named(name).unwrap();
            let rules = AdmissionRules {
                policy,
                ..self.rules.clone()
            };
            if controller.core().takeover_obstacle(&rules).is_none() {
                self.rules = rules;
            }
        }
    }

    fn tick(&mut self, requests: Vec<ControllerRequest>) {
        self.catch_crash(|controller| controller.tick(requests));
    }

    /// Runs an action on the service, and restarts the service if the action crashes it.
    fn catch_crash(&mut self, act: impl FnOnce(&mut Controller<AckTrackingEngine>)) {
        let controller = self.controller.as_mut().expect("a controller");
        match catch_unwind(AssertUnwindSafe(|| act(controller))) {
            Ok(()) => {}
            Err(what) if what.is::<SimulatedCrash>() => self.crash(),
            Err(what) => resume_unwind(what),
        }
    }

    /// Releases all held jobs and waits until every job is finished.
    fn drain(&mut self) {
        self.tick(vec![ControllerRequest::Drain {
            worker: None,
            drained: false,
            reply: oneshot::channel().0,
        }]);
        for _ in 0..DRAIN_ROUNDS {
            let jobs: Vec<u64> = self.controller().core().jobs().into_keys().collect();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                let (reply, _answer) = oneshot::channel();
                self.tick(vec![ControllerRequest::Command {
                    user: None,
                    command: ServiceCommand::Release { job, tasks: None },
                    reply,
                }]);
            }
            // The host's clock may stay behind the service's, which waits for it nowhere.
            self.advance(Span::from_secs(60));
        }
    }

    fn store(&self) -> std::path::PathBuf {
        self.data_dir.path().join("tollgate.db")
    }

    fn view(&self) -> Ref<'_, StoreView> {
        self.view.get(&self.store())
    }

    fn controller(&self) -> &Controller<AckTrackingEngine> {
        self.controller.as_ref().expect("a controller")
    }

    fn engine(&self) -> impl Engine {
        AckTrackingEngine::open(&self.world, &self.acknowledged)
    }

    fn now(&self) -> Instant {
        self.world.now()
    }
}

/// Returns the program of an attempt. It is `work` with its seconds, `unlucky` with its seconds, which the
/// site cannot launch at two of three attempts. Or it is `short` with its milliseconds, which are seconds for
/// one task in 13.
fn program_of(launch: &LaunchSpec) -> SimProgram {
    let mut words = launch.argv.iter().map(|word| word.to_string_lossy());
    match (words.next().as_deref(), words.next()) {
        (Some("short"), Some(millis)) => {
            let millis: f64 = millis.parse().expect("a number");
            let secs = match launch.attempt.task % 13 {
                12 => millis,
                _ => millis / 1_000.0,
            };
            let launch = LaunchSpec {
                argv: vec!["sleep".into(), secs.to_string().into()],
                ..launch.clone()
            };
            SimProgram::of_command(&launch)
        }
        (Some("unlucky"), _) if !launch.attempt.attempt.is_multiple_of(3) => {
            let why = "No space left on device";
            SimProgram::unstartable(LaunchFailure::of_host("record", why))
        }
        (Some("unlucky"), Some(secs)) => {
            SimProgram::busy(Span::from_secs(secs.parse().expect("a number")))
        }
        _ => SimProgram::of_command(launch),
    }
}
