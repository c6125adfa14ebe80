//! A run of the simulation.

use std::cell::Ref;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate_engine::SimHost;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_gate::OnEviction;
use tollgate_model::{Credits, CreditsPerSecond, EvictionCause, Instant, Span};
use tollgate_policies::BUILTIN_POLICIES;
use tollgate_server::KeptOutputs;
use tollgate_server::controller::{
    Controller, ControllerRequest, NewJob, RequestError, RequestedTimes, SubmittedJob,
};
use tollgate_service::{AdmissionRules, AdmissionState, DesktopChoice, ServiceCommand, Submission};
use tollgate_store::{JobProgram, Store};
use tollgate_workers::agent::HostPresence;
use tollgate_workers::{
    ConnectionEvent, ConnectionEventKind, JobOwners, LeaseTimings, WorkerPoolConfig,
};

use super::checks;
use super::host::{WorkerHost, instant};
use super::network::{NetworkDelivery, SimNetwork};
use crate::common::store_view::{StoreView, StoreViewCache};
use crate::common::{program, rules, submission};
use crate::simulation::clock::{SkewedClock, draw_error};
use crate::simulation::engine::{AckTrackingEngine, AcknowledgedAttempts};
use crate::simulation::faults::{ServiceFaults, fault_injector};
use crate::simulation::lies::ReportFalsifier;
use crate::simulation::random::SplitMix;

/// The rule for evicted tasks.
pub(super) const EVICTION_RULE: &str = "max-evictions:1";
/// Number of steps in a run.
const STEPS: u32 = 80;
const HOSTS: usize = 2;
/// The signals with which batch systems end jobs: TERM, KILL, INT, USR1, USR2, XCPU.
const ENDING: [u8; 6] = [15, 9, 2, 10, 12, 24];
/// Resolution of the simulation of leases and frames.
const MOMENT: Duration = Duration::from_secs(1);

/// Counts over all runs.
#[derive(Clone, Copy, Default)]
pub(super) struct RunCounts {
    crashes: u32,
    /// Number of lost workers.
    workers_lost: u32,
    /// Number of attempts seen running on workers.
    jobs_on_workers: u32,
    /// Number of outputs of workers that were kept.
    kept_outputs: u32,
    /// Number of attempts that a batch system ended with their pilot.
    signalled: u32,
    /// Number of pilots that received another end.
    moved_ends: u32,
    /// Number of idle pilots that were asked to leave.
    released: u32,
    /// Number of attempts that gave way on a desktop.
    evictions: u32,
    /// Number of jobs that were not tried again.
    abandoned: u32,
}

impl RunCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.workers_lost += other.workers_lost;
        self.jobs_on_workers += other.jobs_on_workers;
        self.kept_outputs += other.kept_outputs;
        self.signalled += other.signalled;
        self.moved_ends += other.moved_ends;
        self.released += other.released;
        self.evictions += other.evictions;
        self.abandoned += other.abandoned;
    }

    /// Checks that the runs were not trivial.
    pub(super) fn check(self) {
        assert!(self.crashes > 0, "no service crashed");
        assert!(self.workers_lost > 0, "no worker was given up");
        assert!(self.jobs_on_workers > 0, "no worker did anything");
        assert!(self.kept_outputs > 0, "no output was kept");
        assert!(self.signalled > 0, "no pilot was ended with its tasks");
        assert!(self.moved_ends > 0, "no pilot received another end");
        assert!(self.released > 0, "no idle pilot was released");
        assert!(self.evictions > 0, "no attempt gave way");
        assert!(self.abandoned > 0, "no job was abandoned");
    }
}

pub(super) struct WorkerSimulation {
    random: SplitMix,
    data_dir: tempfile::TempDir,
    now: Duration,
    world: SimHost,
    hosts: Vec<WorkerHost>,
    disks: u32,
    network: SimNetwork,
    rules: AdmissionRules,
    controller: Option<Controller<AckTrackingEngine>>,
    view: StoreViewCache,
    acknowledged: AcknowledgedAttempts,
    clock: Arc<Mutex<SkewedClock>>,
    faults: Arc<Mutex<ServiceFaults>>,
    /// Whether the workers lie.
    falsifier: ReportFalsifier,
    /// Jobs that were admitted (true) or queued (false).
    pub(super) acknowledged_jobs: BTreeMap<u64, bool>,
    seen: RunCounts,
}

impl WorkerSimulation {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let named = &BUILTIN_POLICIES[random.below(BUILTIN_POLICIES.len() as u64) as usize];
        let market = named.markets[random.below(named.markets.len() as u64) as usize];
        let memory = Path::new("/dev/shm");
        let data_dir = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let acknowledged = AcknowledgedAttempts::default();
        let falsifier = ReportFalsifier::default();
        let host = |number| WorkerHost::new(number, 0, (&acknowledged, &falsifier), Instant::ZERO);
        let mut run = Self {
            random,
            data_dir: data_dir.expect("a folder"),
            now: Duration::ZERO,
            world: SimHost::new(1, 1 << 30, SimProgram::of_command),
            hosts: (0..HOSTS).map(host).collect(),
            disks: 0,
            network: SimNetwork::new(seed),
            rules: AdmissionRules {
                evictions: EVICTION_RULE.parse().expect("a rule"),
                choose: seed.is_multiple_of(2).then(|| DesktopChoice {
                    policy: "prefer-awake".parse().expect("a policy"),
                    power: BTreeMap::new(),
                }),
                ..rules(named.name, market)
            },
            controller: None,
            view: StoreViewCache::default(),
            acknowledged,
            clock: Arc::default(),
            faults: Arc::default(),
            falsifier,
            acknowledged_jobs: BTreeMap::new(),
            seen: RunCounts::default(),
        };
        run.restart();
        run.hosts.iter_mut().for_each(WorkerHost::start);
        run.advance(3);
        run
    }

    /// Runs all steps, then ends all faults and waits until every job is finished.
    pub(super) fn run(mut self) -> RunCounts {
        for _ in 0..STEPS {
            self.step();
            checks::invariants(&self);
        }
        self.network
            .set_weather(|weather| *weather = Default::default());
        self.falsifier.falsify(None);
        *self.faults.lock().unwrap() = ServiceFaults::default();
        for host in &mut self.hosts {
            host.set_presence(HostPresence::default(), self.now);
        }
        self.drain();
        checks::invariants(&self);
        checks::everything_is_over(&self);
        (self.seen.evictions, self.seen.abandoned) = checks::evictions(&self);
        self.seen.kept_outputs = checks::kept_outputs(&self);
        assert!(
            self.hosts.iter().all(WorkerHost::is_registered),
            "a worker never came back"
        );
        self.seen
    }

    fn step(&mut self) {
        let host = self.random.below(HOSTS as u64) as usize;
        match self.random.below(25) {
            0..5 => self.submit(),
            5..10 => {
                let secs = self.random.below(25);
                self.advance(secs);
            }
            10 => self.act(),
            11 => {
                let random = &mut self.random;
                let (late, doubled) = (random.below(4_000), random.below(4));
                let out_of_order = random.one_in(4);
                self.network.set_weather(|weather| {
                    weather.max_delay_ms = late;
                    weather.duplicate_one_in = doubled;
                    weather.out_of_order = out_of_order;
                });
            }
            12 | 13 => self.network.set_weather(|weather| {
                if !weather.partitioned.remove(&host) {
                    weather.partitioned.insert(host);
                }
            }),
            14 => {
                if self.hosts[host].is_up() {
                    self.hosts[host].kill_worker(&self.network);
                } else {
                    let left = self.random.below(60);
                    let until = self.now + Duration::from_secs(left);
                    self.hosts[host].start_pilot(until);
                }
            }
            15 => {
                self.hosts[host].switch_off();
                if self.random.one_in(3) {
                    self.disks += 1;
                    let now = instant(self.now);
                    self.hosts[host] = WorkerHost::new(
                        host,
                        self.disks,
                        (&self.acknowledged, &self.falsifier),
                        now,
                    );
                }
            }
            16 => self.hosts[host].stop_worker(),
            17 if self.random.one_in(2) => self.hosts[host].request_departure(),
            17 => self.end_pilot(host),
            18 => self.clock.lock().unwrap().off = draw_error(&mut self.random),
            19 => {
                let mut faults = self.faults.lock().unwrap();
                faults.draw_disk(&mut self.random);
            }
            20 if self.random.one_in(2) => self.move_end(host),
            20 => self.release(host),
            21 => {
                let lies = self.random.one_in(2);
                self.falsifier.falsify(lies.then(|| self.random.split()));
            }
            22 | 23 => {
                let causes = [
                    None,
                    None,
                    None,
                    Some(EvictionCause::User),
                    Some(EvictionCause::Reboot),
                ];
                let presence = HostPresence {
                    in_use: self.random.pick(&causes).expect("a cause"),
                    is_outside_hours: self.random.one_in(8),
                    closes: None,
                    free_memory: None,
                };
                for host in &mut self.hosts {
                    host.set_presence(presence, self.now);
                }
            }
            _ => {
                self.seen.crashes += 1;
                self.restart();
            }
        }
        if self.random.one_in(3) {
            self.hosts[host].start();
            self.hosts[host].resume_worker(&self.network, self.now);
        }
        self.tick(Vec::new());
    }

    /// Starts a pilot in the place of a host, and ends it as its batch system does. It ends its tasks first,
    /// and the worker within the seconds after, which may have the time to leave or not.
    fn end_pilot(&mut self, host: usize) {
        self.replace_host(host);
        self.hosts[host].start_pilot(self.now + Duration::from_secs(600));
        self.advance(3);
        self.submit();
        self.advance(2);
        let signal = self.random.pick(&ENDING).expect("a signal");
        let ended = self.hosts[host].signal_all(signal);
        if ended.is_empty() {
            return;
        }
        self.seen.signalled += ended.len() as u32;
        let late = self.random.below(4);
        self.advance(late);
        if self.random.one_in(2) {
            self.hosts[host].request_departure();
            return;
        }
        // Its disk goes with it: a pilot does not come again.
        self.replace_host(host);
    }

    /// Moves the end of a pilot, as its batch system does while it runs: a look at the queue shows it. The pilot ends
    /// by the new end, whether or not the service could tell it.
    fn move_end(&mut self, host: usize) {
        let left = Duration::from_secs(self.random.below(120));
        let until = instant(self.now + left);
        let (reply, answer) = oneshot::channel();
        let ends = vec![(self.hosts[host].pilot_name(), until)];
        self.tick(vec![ControllerRequest::MoveEnds { ends, reply }]);
        let moved = answer.blocking_recv().expect("an answer");
        self.seen.moved_ends += moved.map_or(0, |moved| moved.len() as u32);
    }

    /// Asks a pilot to leave that no work needs, which it does only if it runs nothing.
    fn release(&mut self, host: usize) {
        let (reply, answer) = oneshot::channel();
        let workers = vec![self.hosts[host].pilot_name()];
        self.tick(vec![ControllerRequest::ReleaseWorkers { workers, reply }]);
        let released = answer.blocking_recv().expect("an answer");
        self.seen.released += released.map_or(0, |released| released.len() as u32);
    }

    /// Puts a new host in the place of one, on which nothing runs any more.
    fn replace_host(&mut self, host: usize) {
        self.hosts[host].kill_worker(&self.network);
        self.hosts[host].switch_off();
        self.disks += 1;
        let now = instant(self.now);
        self.hosts[host] =
            WorkerHost::new(host, self.disks, (&self.acknowledged, &self.falsifier), now);
    }

    /// Advances the time on all hosts.
    fn advance(&mut self, secs: u64) {
        for _ in 0..secs {
            self.now += MOMENT;
            self.world.advance_to(instant(self.now));
            let mut requests = Vec::new();
            let mut answers = Vec::new();
            let mut deliver = |line, what| {
                let (reply, answer) = oneshot::channel();
                let received = ConnectionEvent {
                    connection: line,
                    kind: what,
                };
                requests.push(ControllerRequest::Worker {
                    event: received,
                    reply,
                });
                answers.push((line, answer));
            };
            for host in &mut self.hosts {
                if let Some((line, end)) = host.tick(&self.network, self.now) {
                    deliver(line, ConnectionEventKind::Opened(end));
                }
            }
            for (line, parcel) in self.network.arrived(self.now) {
                match parcel {
                    NetworkDelivery::Service(frame) => {
                        deliver(line, ConnectionEventKind::Received(frame))
                    }
                    NetworkDelivery::ServiceClosed => deliver(line, ConnectionEventKind::Closed),
                    NetworkDelivery::Worker(_) | NetworkDelivery::WorkerClosed => {
                        let host = self.network.host(line).expect("a host");
                        self.hosts[host].on_delivery(line, parcel, &self.network, self.now);
                    }
                }
            }
            self.tick(requests);
            for (line, mut answer) in answers {
                if answer.try_recv() == Ok(false) {
                    self.network.send(line, NetworkDelivery::WorkerClosed);
                }
            }
            checks::nothing_runs_twice(self);
        }
    }

    fn submit(&mut self) {
        let mut answers = Vec::new();
        let mut requests = Vec::new();
        for _ in 0..=self.random.below(3) {
            let (submission, words) = self.job();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (reply, answer) = oneshot::channel();
            answers.push(answer);
            requests.push(ControllerRequest::submit(NewJob {
                submission,
                times: RequestedTimes::default(),
                program: Box::new(JobProgram {
                    output: Some("out".to_owned()),
                    ..program(&words)
                }),
                reply,
            }));
        }
        self.tick(requests);
        for mut answer in answers {
            let answered: Result<Result<SubmittedJob, RequestError>, _> = answer.try_recv();
            if let Ok(Ok(verdict)) = answered {
                match verdict.answer.admission {
                    AdmissionState::Accepted { .. } => {
                        self.acknowledged_jobs.insert(verdict.job, true);
                    }
                    AdmissionState::Queued => {
                        self.acknowledged_jobs.insert(verdict.job, false);
                    }
                    AdmissionState::Rejected(_)
                    | AdmissionState::Waitlisted { .. }
                    | AdmissionState::Unpromised(_)
                    | AdmissionState::Deferred => {}
                }
            }
        }
    }

    fn job(&mut self) -> (Submission, [String; 2]) {
        let random = &mut self.random;
        let secs = 1 + random.below(90);
        let guess = 1 + random.below(120) as i64;
        let message = if random.one_in(3) { "sleep" } else { "work" };
        let submission = Submission {
            procs: 1 + random.below(3) as u32,
            estimate: (!random.one_in(4)).then(|| Span::from_secs(guess)),
            deadline: (!random.one_in(3)).then(|| Span::from_secs(1 + random.below(600) as i64)),
            budget: (!random.one_in(3)).then(|| Credits::from_f64(random.below(900) as f64)),
            penalty: CreditsPerSecond::from_f64(random.below(3) as f64 * 0.1),
            retry: if random.one_in(2) {
                OnEviction::Requeue
            } else {
                OnEviction::Fail
            },
            ..submission(message, guess)
        };
        (submission, [message.to_owned(), secs.to_string()])
    }

    /// Cancels, holds or releases a job.
    fn act(&mut self) {
        let jobs: Vec<u64> = self.acknowledged_jobs.keys().copied().collect();
        let Some(job) = self.random.pick(&jobs) else {
            return;
        };
        let command = match self.random.below(3) {
            0 => ServiceCommand::Cancel { job, tasks: None },
            1 => ServiceCommand::Hold { job, tasks: None },
            _ => ServiceCommand::Release { job, tasks: None },
        };
        self.command(command);
    }

    fn command(&mut self, command: ServiceCommand) {
        let (reply, _answer) = oneshot::channel();
        let user = None;
        self.tick(vec![ControllerRequest::Command {
            user,
            command,
            reply,
        }]);
    }

    /// Kills the service, which drops all connections, and starts it again.
    fn restart(&mut self) {
        self.controller = None;
        self.view.close();
        let store = Store::open(&self.store()).expect("the store opens");
        let engine = AckTrackingEngine::open(&self.world, &self.acknowledged);
        let (world, clock) = (self.world.clone(), Arc::clone(&self.clock));
        let now = Box::new(move || clock.lock().unwrap().read(world.now()));
        let mut controller = Controller::new(store, engine, &self.rules, now).expect("it recovers");
        let pool_config = WorkerPoolConfig {
            service: "this".to_owned(),
            owners: JobOwners::Own("me".to_owned()),
            lease: LeaseTimings::default(),
            registry: self.data_dir.path().join("workers.json"),
            name_of: Arc::new(|_| Ok("me".to_owned())),
        };
        let world = self.world.clone();
        let ticks = Box::new(move || {
            let micros = world.now().as_micros();
            Duration::from_micros(u64::try_from(micros).expect("after zero"))
        });
        controller
            .accept_workers(pool_config, ticks)
            .expect("a roster");
        let kept = KeptOutputs::open(self.outputs(), 1 << 30, |_| Ok(Some(0)));
        controller.keep_outputs(kept.expect("a folder"), 1 << 20);
        *self.faults.lock().unwrap() = ServiceFaults::default();
        controller.inject_faults(fault_injector(&self.faults));
        controller.reconcile().expect("it begins");
        self.controller = Some(controller);
    }

    fn tick(&mut self, requests: Vec<ControllerRequest>) {
        let controller = self.controller.as_mut().expect("a controller");
        let before = n_incarnations(controller);
        controller.tick(requests);
        self.seen.workers_lost += u32::from(n_incarnations(controller) < before);
        let running = self.hosts.iter().flat_map(|host| host.world.running());
        self.seen.jobs_on_workers += running.count() as u32;
    }

    /// Releases all held jobs and waits until every job is finished.
    fn drain(&mut self) {
        for host in &mut self.hosts {
            host.kill_pilot(&self.network);
        }
        for _ in 0..40 {
            for host in &mut self.hosts {
                host.start();
                host.resume_worker(&self.network, self.now);
            }
            let jobs: Vec<u64> = self.controller().core().jobs().into_keys().collect();
            for &job in &jobs {
                self.command(ServiceCommand::Release { job, tasks: None });
            }
            self.advance(150);
            if jobs.is_empty() {
                return;
            }
        }
    }

    /// Returns the directory of the outputs that the service keeps.
    pub(super) fn outputs(&self) -> std::path::PathBuf {
        self.data_dir.path().join("outputs")
    }

    pub(super) fn store(&self) -> std::path::PathBuf {
        self.data_dir.path().join("tollgate.db")
    }

    pub(super) fn view(&self) -> Ref<'_, StoreView> {
        self.view.get(&self.store())
    }

    pub(super) fn controller(&self) -> &Controller<AckTrackingEngine> {
        self.controller.as_ref().expect("a controller")
    }

    pub(super) fn worlds(&self) -> Vec<&SimHost> {
        let hosts = self.hosts.iter().map(|host| &host.world);
        hosts.chain([&self.world]).collect()
    }

    pub(super) fn now(&self) -> Duration {
        self.now
    }
}

fn n_incarnations(controller: &Controller<AckTrackingEngine>) -> usize {
    let workers = controller.core().gate().workers();
    workers.filter(|(_, live)| live.up).count()
}
