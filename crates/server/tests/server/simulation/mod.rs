//! A run of the simulation.

mod actions;
mod checks;
pub(crate) mod clock;
pub(crate) mod engine;
pub(crate) mod faults;
pub(crate) mod lies;
pub(crate) mod random;
mod submissions;

use std::cell::Ref;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use clock::SkewedClock;
use engine::{AckTrackingEngine, AcknowledgedAttempts};
use faults::{ServiceFaults, SimulatedCrash};
use lies::ReportFalsifier;
use random::SplitMix;
use tokio::sync::oneshot;
use tollgate_engine::sim_engine::{SimFaults, SimProgram};
use tollgate_engine::{Engine, LaunchSpec, SimHost};
use tollgate_model::{Instant, LaunchFailure, Market, Span};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_server::controller::{Controller, ControllerRequest, RequestError, SubmittedJob};
use tollgate_service::{AdmissionRules, EngineAction, ServiceCommand};

use crate::common::rules;
use crate::common::store_view::{StoreView, StoreViewCache};

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
    falsifier: ReportFalsifier,
    /// Jobs that were admitted (true) or queued (false).
    acknowledged_jobs: BTreeMap<u64, bool>,
    /// Jobs with a deadline given as an instant, and that instant.
    requested_due: BTreeMap<u64, Instant>,
    /// The jobs for which another deadline was asked later.
    altered_jobs: BTreeSet<u64>,
    /// How often each job was requeued, at most.
    requeues: BTreeMap<u64, usize>,
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
            falsifier: ReportFalsifier::default(),
            acknowledged_jobs: BTreeMap::new(),
            requested_due: BTreeMap::new(),
            altered_jobs: BTreeSet::new(),
            requeues: BTreeMap::new(),
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
        self.falsifier.falsify(None);
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
                self.falsifier.falsify(lies.then(|| self.random.split()));
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
