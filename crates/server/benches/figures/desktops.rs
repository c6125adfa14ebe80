//! A service with the computers of a campus, whose users come and go.

use std::collections::BTreeMap;

use tollgate_gate::{OnEviction, WorkerId};
use tollgate_grid_policies::select::BuiltinSelectPolicy;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, EvictionCause, Instant,
    KillReason, NodeId, Span,
};
use tollgate_service::{
    AdmissionRules, Core, DesktopChoice, EngineAction, HostOffer, ServiceCommand,
};
use tollgate_store::{CommandBatch, JobProgram, Store};

use crate::idle;
use crate::server::config;

/// The computers of the campus of McGough et al. (2013).
const COMPUTERS: u32 = 1_359;
/// Number of log-ins at a computer in an hour of the day.
const RATE: f64 = 0.3;
/// The time for which a user stays.
const STAYS: Span = Span::from_secs(3_600);
/// The time that is played, a working day.
const PLAYED: Span = Span::from_secs(10 * 3_600);
/// Number of tasks that run, and that are submitted again when one was evicted.
const TASKS: u64 = 200;

/// Measures the processor time of the log-ins of a working day, stored as the service stores them.
pub(crate) fn measure() {
    for policy in ["easy", "plan"] {
        let mut campus = Campus::new(policy);
        campus.submit_tasks();
        let before = cpu_s();
        let changes = campus.play();
        let seconds = cpu_s() - before;
        println!(
            "{policy}: {COMPUTERS} desktops, {changes} changes of their use, {} evictions in 10 h: {seconds:.2} s of processor time, {:.3} % of a core",
            campus.evictions,
            100.0 * seconds / PLAYED.as_secs_f64()
        );
    }
}

struct Campus {
    _folder: tempfile::TempDir,
    store: Store,
    core: Core,
    now: Instant,
    running: BTreeMap<u32, AttemptId>,
    evictions: u32,
}

impl Campus {
    fn new(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(&folder.path().join("tollgate.db")).expect("a store");
        let rules = AdmissionRules {
            choose: Some(DesktopChoice {
                policy: "soonest-end-online"
                    .parse::<&BuiltinSelectPolicy>()
                    .expect("a policy"),
                power: BTreeMap::new(),
            }),
            ..config(policy)
                .rules(&tollgate_policies::builtin_registry())
                .expect("settings")
        };
        let core = store.recover(&rules).expect("a state");
        let mut campus = Self {
            _folder: folder,
            store,
            core,
            now: Instant::from_secs(1_700_000_000),
            running: BTreeMap::new(),
            evictions: 0,
        };
        let up = |computer: u32| ServiceCommand::WorkerUp {
            worker: WorkerId(computer),
            incarnation: 1,
            nodes: 1,
            memory: None,
            offer: HostOffer {
                name: format!("lab{}-{computer}", computer % 37),
                is_desktop: true,
                ..HostOffer::default()
            },
        };
        let all: Vec<ServiceCommand> = (0..COMPUTERS).map(up).collect();
        campus.step(&all, 0..0);
        campus
    }

    fn submit_tasks(&mut self) {
        let task = |job: u64| {
            let ServiceCommand::Submit(task) = idle::submit(job) else {
                unreachable!("it is submitted")
            };
            ServiceCommand::Submit(Box::new(tollgate_service::Submission {
                retry: OnEviction::Requeue,
                ..*task
            }))
        };
        let all: Vec<ServiceCommand> = (1..=TASKS).map(task).collect();
        self.step(&all, 1..TASKS + 1);
    }

    /// Lets users come and go for a day; returns the number of changes.
    fn play(&mut self) -> u32 {
        let gap = Span::from_secs_f64(3_600.0 / (RATE * f64::from(COMPUTERS)));
        let end = self.now + PLAYED;
        let mut leaves: Vec<(Instant, u32)> = Vec::new();
        let (mut next, mut changes) = (0, 0);
        while self.now < end {
            self.now += gap;
            while let Some(&(at, computer)) = leaves.first().filter(|(at, _)| *at <= self.now) {
                leaves.remove(0);
                self.now = self.now.max(at);
                self.set_use(computer, None);
                changes += 1;
            }
            // An order in which each computer has its turn.
            next = (next + 577) % COMPUTERS;
            if leaves.iter().any(|(_, computer)| *computer == next) {
                continue;
            }
            if let Some(attempt) = self.running.remove(&next) {
                self.evictions += 1;
                self.evict(attempt);
            }
            self.set_use(next, Some(EvictionCause::User));
            leaves.push((self.now + STAYS, next));
            changes += 1;
        }
        changes
    }

    fn set_use(&mut self, computer: u32, cause: Option<EvictionCause>) {
        let command = ServiceCommand::WorkerInUse {
            worker: WorkerId(computer),
            incarnation: 1,
            cause,
        };
        self.step(&[command], 0..0);
    }

    fn evict(&mut self, attempt: AttemptId) {
        let report = AttemptReport {
            attempt,
            event: AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::Signalled(15),
                killed: Some(KillReason::GaveWay(EvictionCause::User)),
                at: self.now,
                wall: Span::from_secs(60),
                cpu: Span::from_secs(60),
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        };
        self.step(&[ServiceCommand::Report(report)], 0..0);
    }

    fn step(&mut self, commands: &[ServiceCommand], jobs: std::ops::Range<u64>) {
        let step = self.core.step(self.now, commands);
        for action in &step.actions {
            if let EngineAction::Start { attempt, nodes, .. } = action {
                let NodeId(node) = nodes[0];
                self.running.insert(node, *attempt);
            }
        }
        let program = idle::program();
        let programs: BTreeMap<u64, &JobProgram> = jobs.map(|job| (job, &program)).collect();
        self.store
            .commit(&CommandBatch {
                host_uses: &step.host_uses,
                at: self.now,
                commands,
                changes: &step.changes,
                programs: &programs,
                hosts: &BTreeMap::new(),
                answers: &[],
            })
            .expect("it is written");
        if self.store.since_snapshot() >= 2_000 {
            self.store.save(&mut self.core).expect("it is written");
        }
    }
}

/// Returns the processor time of this process so far, in seconds.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
