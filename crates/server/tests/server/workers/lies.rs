//! A worker that reports anything at all, every number at its extremes: the service goes on committing and
//! answering, and its store is sound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tokio::sync::oneshot;
use tollgate_engine::capacity::{
    CpuPinning, MemoryEnforcement, ProcessEnforcement, ShareEnforcement, TreeTracking,
};
use tollgate_engine::output::{OutputBytes, OutputFile, OutputPiece};
use tollgate_engine::{EngineCapacity, OutputAnswer, PartRequest};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus,
    HostSlowdown, Instant, KillReason, LaunchFailure, LaunchFault, Span,
};
use tollgate_server::controller::ControllerRequest;
use tollgate_store::{JobFilter, RecordFilter, Store, UsageKeys};
use tollgate_workers::departure::LeaveNotice;
use tollgate_workers::protocol::{ServerMessage, VERSION, WorkerFrame, WorkerHello, WorkerMessage};
use tollgate_workers::{
    ConnectionEvent, ConnectionEventKind, FrameSink, JobOwners, LeaseTimings, WorkerPoolConfig,
};

use crate::common::{TestCluster, submission};

/// Number of jobs that wait for the worker.
const JOBS: u64 = 6;

#[derive(Clone, Default)]
struct Inbox(Arc<Mutex<Vec<WorkerFrame<ServerMessage>>>>);

impl FrameSink for Inbox {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.0.lock().unwrap().push(frame);
        true
    }
}

/// A service without nodes of its own, and a worker that has been given jobs.
struct ByzantineWorker {
    cluster: TestCluster,
    inbox: Inbox,
    connection: u64,
    seq: u64,
    incarnation: u32,
}

impl ByzantineWorker {
    fn new() -> Self {
        let mut cluster = TestCluster::new("fcfs");
        let registry = cluster.data_dir.path().join("workers.json");
        let controller = cluster.controller();
        controller.offer_no_local_nodes();
        controller.measure_load(Duration::from_secs(5));
        let config = WorkerPoolConfig {
            service: "this".to_owned(),
            owners: JobOwners::Own("me".to_owned()),
            lease: LeaseTimings::default(),
            registry,
            name_of: Arc::new(|_| Ok("me".to_owned())),
        };
        let clock = Arc::clone(&cluster.clock);
        let ticks = Box::new(move || {
            let micros = clock.lock().unwrap().as_micros();
            Duration::from_micros(u64::try_from(micros).unwrap())
        });
        let controller = cluster.controller();
        controller.accept_workers(config, ticks).unwrap();
        controller.reconcile().unwrap();
        let mut worker = Self {
            cluster,
            inbox: Inbox::default(),
            connection: 0,
            seq: 0,
            incarnation: 0,
        };
        worker.cluster.wait_until(1_000);
        for job in 0..JOBS {
            let job = submission(&format!("job {job}"), 5);
            worker.cluster.submit_job(job, &["sleep", "1"]).unwrap();
        }
        worker.register();
        worker
    }

    /// Connects and offers nodes as an honest worker does.
    fn register(&mut self) {
        self.connection += 1;
        self.seq = 0;
        self.incarnation = 0;
        let opened = ConnectionEventKind::Opened(Box::new(self.inbox.clone()));
        self.event(opened);
        self.send(
            0,
            WorkerMessage::Hello(hello(VERSION, "worker".to_owned(), None, 0)),
        );
        self.send(0, offer(4, 0, BTreeMap::new(), Vec::new(), None));
        self.cluster.tick(Vec::new());
        let frames = self.inbox.0.lock().unwrap();
        self.incarnation = frames.last().map_or(0, |frame| frame.incarnation);
    }

    fn event(&mut self, kind: ConnectionEventKind) {
        let (reply, _) = oneshot::channel();
        let event = ConnectionEvent {
            connection: self.connection,
            kind,
        };
        self.cluster
            .tick(vec![ControllerRequest::Worker { event, reply }]);
    }

    fn send(&mut self, incarnation: u32, message: WorkerMessage) {
        self.seq += 1;
        let frame = WorkerFrame {
            incarnation,
            seq: self.seq,
            message,
        };
        self.event(ConnectionEventKind::Received(frame));
    }

    /// Checks that the service takes a job and answers every question, and that the next service starts.
    fn check_service(mut self) {
        self.cluster.controller().core().check_invariants().unwrap();
        let accepted = self.cluster.submit_job(submission("after", 5), &["true"]);
        let after = accepted.expect("the service takes jobs").job;
        let reader = self.cluster.reader();
        let all = JobFilter {
            limit: u32::MAX,
            ..JobFilter::default()
        };
        let jobs = reader.jobs(&all).unwrap();
        assert_eq!(jobs.len() as u64, JOBS + 1);
        assert_eq!(jobs.iter().map(|job| job.id).max(), Some(after));
        for job in &jobs {
            reader.attempts(job.id).unwrap();
            reader.tasks(job.id, None, 100).unwrap();
        }
        for by in [UsageKeys::default(), BY_DAY] {
            reader.usage(&RecordFilter::default(), by).unwrap();
        }
        reader.objective_sums(None).unwrap();
        self.cluster.controller = None;
        tollgate_store::check(&self.cluster.store()).unwrap();
        let mut store = Store::open(&self.cluster.store()).unwrap();
        store.recover(&self.cluster.rules).unwrap();
    }
}

const BY_DAY: UsageKeys = UsageKeys {
    user: true,
    account: true,
    day: true,
};

fn hello(version: u32, name: String, site: Option<String>, incarnation: u32) -> WorkerHello {
    WorkerHello {
        version,
        identity: name.clone(),
        name,
        user: "me".to_owned(),
        all_users: false,
        root_jobs: true,
        is_pilot: site.is_some(),
        site,
        service: None,
        incarnation,
    }
}

fn offer(
    nodes: u32,
    memory_per_node: u64,
    devices: BTreeMap<String, u8>,
    running: Vec<AttemptId>,
    until: Option<Instant>,
) -> WorkerMessage {
    WorkerMessage::Offer {
        desktop: None,
        capacity: EngineCapacity {
            nodes,
            memory_per_node,
            shares: ShareEnforcement::Unenforced,
            pinning: CpuPinning::Unenforced,
            memory: MemoryEnforcement::Unenforced,
            processes: ProcessEnforcement::Unenforced,
            tree: TreeTracking::Pids,
            other_users: false,
            devices,
        },
        running,
        until,
    }
}

fn signed() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MAX),
        Just(i64::MIN),
        Just(0),
        Just(-1),
        any::<i64>()
    ]
}

fn unsigned() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(u64::MAX),
        Just(1 << 63),
        Just(0),
        Just(1),
        any::<u64>()
    ]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(u32::MAX), Just(0), 1..5_u32, any::<u32>()]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("me".to_owned()),
        Just("\u{1b}[2J\0".to_owned()),
        Just("x".repeat(100_000)),
    ]
}

fn instant() -> impl Strategy<Value = Instant> {
    signed().prop_map(Instant::from_micros)
}

/// An attempt, mostly one that the worker runs.
fn attempt() -> impl Strategy<Value = AttemptId> {
    let running = (1..=JOBS).prop_map(|job| (job, 0, 1));
    prop_oneof![8 => running, 1 => (unsigned(), number(), number())]
        .prop_map(|(job, task, attempt)| AttemptId { job, task, attempt })
}

fn status() -> impl Strategy<Value = AttemptStatus> {
    prop_oneof![
        any::<u8>().prop_map(AttemptStatus::Exited),
        any::<u8>().prop_map(AttemptStatus::Signalled),
        (text(), text(), fault()).prop_map(|(step, reason, fault)| {
            AttemptStatus::NotStarted(LaunchFailure {
                step,
                reason,
                fault,
            })
        }),
    ]
}

fn fault() -> impl Strategy<Value = LaunchFault> {
    prop_oneof![
        Just(LaunchFault::Job),
        Just(LaunchFault::Storage),
        Just(LaunchFault::Host)
    ]
}

fn report() -> impl Strategy<Value = AttemptReport> {
    let killed = prop_oneof![
        4 => Just(None),
        1 => Just(Some(KillReason::Evicted)),
        1 => Just(Some(KillReason::Withdrawn)),
        1 => Just(Some(KillReason::TimeLimit)),
    ];
    let ended = (
        status(),
        killed,
        instant(),
        signed(),
        signed(),
        prop::option::of(unsigned()),
    );
    let ended = ended.prop_map(|(status, killed, at, wall, cpu, peak_memory)| {
        AttemptEvent::Ended(AttemptOutcome {
            status,
            killed,
            at,
            wall: Span::from_micros(wall),
            cpu: Span::from_micros(cpu),
            suspended: Span::from_micros(cpu),
            peak_memory,
        })
    });
    let started = (prop::option::of(number()), instant());
    let started = started.prop_map(|(pid, at)| AttemptEvent::Started(AttemptStart { pid, at }));
    let lost = instant().prop_map(|at| AttemptEvent::Lost { at });
    let event = prop_oneof![4 => ended, 2 => started, 1 => lost];
    (attempt(), event).prop_map(|(attempt, event)| AttemptReport { attempt, event })
}

fn message() -> impl Strategy<Value = WorkerMessage> {
    let running = prop::collection::vec(attempt(), 0..4);
    let devices = prop::collection::btree_map(text(), any::<u8>(), 0..3);
    let offered = (
        number(),
        unsigned(),
        devices,
        running,
        prop::option::of(instant()),
    );
    let offered = offered.prop_map(|(nodes, memory, devices, running, until)| {
        offer(nodes, memory, devices, running, until)
    });
    let greeting = (number(), text(), prop::option::of(text()), number());
    let greeting = greeting.prop_map(|(version, name, site, incarnation)| {
        let version = if version == 0 { VERSION } else { version };
        WorkerMessage::Hello(hello(version, name, site, incarnation))
    });
    let piece = (unsigned(), unsigned(), signed()).prop_map(|(start, size, modified_us)| {
        let file = OutputFile {
            size,
            inode: size,
            modified_us,
        };
        Ok(OutputPiece {
            start,
            bytes: OutputBytes(vec![7; 10]),
            file,
        })
    });
    let found = prop_oneof![piece, text().prop_map(Err)];
    let answer = (unsigned(), found).prop_map(|(id, found)| OutputAnswer { id, found });
    let part = (unsigned(), text(), attempt(), text());
    let part = part.prop_map(|(call, user, attempt, host)| WorkerMessage::Part {
        call,
        user,
        request: PartRequest {
            attempt,
            host,
            env: Vec::new(),
        },
    });
    prop_oneof![
        12 => prop::collection::vec(report(), 1..6).prop_map(WorkerMessage::Reports),
        2 => offered,
        1 => greeting,
        1 => unsigned().prop_map(WorkerMessage::Beat),
        1 => instant().prop_map(WorkerMessage::Until),
        1 => any::<f64>().prop_map(|slowdown| WorkerMessage::Slowed(HostSlowdown::nearest(slowdown))),
        1 => Just(WorkerMessage::Leaving(LeaveNotice::Idle)),
        1 => Just(WorkerMessage::Leaving(LeaveNotice::Now)),
        1 => part,
        1 => prop::collection::vec(answer, 1..4).prop_map(WorkerMessage::Outputs),
        1 => Just(WorkerMessage::Leave),
    ]
}

/// A step of the worker.
#[derive(Clone, Debug)]
enum ByzantineStep {
    /// Registers as an honest worker does.
    Register,
    /// Sends a message for the incarnation that is so far ahead of the true one.
    Send(u32, Box<WorkerMessage>),
    /// Is silent for this number of seconds.
    Wait(i64),
}

fn step() -> impl Strategy<Value = ByzantineStep> {
    let sent = (prop_oneof![9 => Just(0), 1 => number()], message());
    prop_oneof![
        1 => Just(ByzantineStep::Register),
        8 => sent.prop_map(|(ahead, message)| ByzantineStep::Send(ahead, Box::new(message))),
        1 => (0..100_i64).prop_map(ByzantineStep::Wait),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 32, rng_seed: RngSeed::Fixed(1), ..Config::default() })]
    #[test]
    fn service_commits_and_answers_whatever_a_worker_reports(
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let mut worker = ByzantineWorker::new();
        for step in steps {
            match step {
                ByzantineStep::Register => worker.register(),
                ByzantineStep::Send(ahead, message) => {
                    let incarnation = worker.incarnation.wrapping_add(ahead);
                    worker.send(incarnation, *message);
                }
                ByzantineStep::Wait(secs) => worker.cluster.advance(secs),
            }
        }
        worker.check_service();
    }
}

/// The frames of a worker that stopped a service for ever: two ends of its own attempts.
#[test]
fn two_ends_with_extreme_spans_are_stored_with_the_nearest_possible() {
    let mut worker = ByzantineWorker::new();
    worker.cluster.advance(10);
    for job in 1..=2 {
        let outcome = AttemptOutcome {
            status: AttemptStatus::Exited(0),
            killed: None,
            at: Instant::from_micros(i64::MAX),
            wall: Span::from_micros(i64::MAX),
            cpu: Span::from_micros(i64::MAX),
            suspended: Span::ZERO,
            peak_memory: Some(u64::MAX),
        };
        let attempt = AttemptId {
            job,
            task: 0,
            attempt: 1,
        };
        let event = AttemptEvent::Ended(outcome);
        let reports = vec![AttemptReport { attempt, event }];
        worker.send(worker.incarnation, WorkerMessage::Reports(reports));
    }
    let row = worker.cluster.row(2);
    assert_eq!(row.state, "finished");
    // Ten seconds, one per cent and a minute.
    assert_eq!(row.run, Some(Span::from_micros(70_100_000)));
    assert_eq!(
        (
            row.peak_memory,
            row.finish.map(|at| at.as_micros() / 1_000_000)
        ),
        (None, Some(1_010))
    );
    worker.check_service();
}
