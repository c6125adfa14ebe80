mod outputs;
mod parts;
mod signals;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_gate::{Gate, GateInput};
use tollgate_model::{
    AttemptOutcome, AttemptStatus, HostSlowdown, HostTerms, Instant, Market, Span,
};
use tollgate_policies::builtin_registry;
use tollgate_service::ServiceCommand;

use super::*;
use crate::{FrameSink, LeaseTimings, WorkerPoolConfig};

#[derive(Clone, Default)]
struct RecordingSink(Arc<Mutex<Vec<WorkerFrame<ServerMessage>>>>);

impl FrameSink for RecordingSink {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.0.lock().unwrap().push(frame);
        true
    }
}

/// A service with one worker connection.
struct TestSession {
    pool: WorkerPool<SimEngine>,
    sink: RecordingSink,
    seq: u64,
    _folder: tempfile::TempDir,
}

impl TestSession {
    fn new(owners: JobOwners) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = SimHost::new(1, 1 << 30, SimProgram::of_command);
        let mut fleet = WorkerPool::new(SimEngine::open(&world), "here".to_owned());
        let pool_config = WorkerPoolConfig {
            service: "this".to_owned(),
            owners,
            lease: LeaseTimings::default(),
            registry: folder.path().join("workers.json"),
            name_of: Arc::new(|_| Ok("ann".to_owned())),
        };
        fleet
            .accept_workers(pool_config, Box::new(|| Duration::ZERO))
            .unwrap();
        let sink = RecordingSink::default();
        fleet.on_connection_event(ConnectionEvent {
            connection: 1,
            kind: ConnectionEventKind::Opened(Box::new(sink.clone())),
        });
        Self {
            pool: fleet,
            sink,
            seq: 0,
            _folder: folder,
        }
    }

    /// Sends a message as the worker, and returns the answers.
    fn exchange(&mut self, epoch: u32, message: WorkerMessage) -> Vec<ServerMessage> {
        self.seq += 1;
        let seq = self.seq;
        let what = ConnectionEventKind::Received(WorkerFrame {
            incarnation: epoch,
            seq,
            message,
        });
        self.pool.on_connection_event(ConnectionEvent {
            connection: 1,
            kind: what,
        });
        self.sent()
    }

    fn sent(&self) -> Vec<ServerMessage> {
        let messages = std::mem::take(&mut *self.sink.0.lock().unwrap());
        messages.into_iter().map(|frame| frame.message).collect()
    }

    fn is_connected(&self) -> bool {
        self.pool.connections.contains_key(&1)
    }
}

fn hello(user: &str) -> WorkerHello {
    WorkerHello {
        version: VERSION,
        identity: "one".to_owned(),
        name: "blade".to_owned(),
        user: user.to_owned(),
        all_users: false,
        root_jobs: false,
        is_pilot: false,
        site: None,
        service: None,
        incarnation: 0,
    }
}

fn is_refused(owners: JobOwners, hello: WorkerHello) -> bool {
    let mut session = TestSession::new(owners);
    match session.exchange(0, WorkerMessage::Hello(hello)).as_slice() {
        [ServerMessage::Welcome { goes_on: false, .. }] => false,
        [ServerMessage::Refused(why)] => {
            assert!(!why.is_empty() && !session.is_connected());
            true
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn worker_that_cannot_run_the_jobs_is_rejected() {
    let own = || JobOwners::Own("ann".to_owned());
    assert!(!is_refused(own(), hello("ann")));
    assert!(is_refused(own(), hello("bob")));
    assert!(is_refused(JobOwners::All, hello("ann")));
    let root = WorkerHello {
        all_users: true,
        ..hello("root")
    };
    assert!(!is_refused(own(), root.clone()));
    assert!(!is_refused(JobOwners::All, root.clone()));
    let roots = || JobOwners::Own("root".to_owned());
    assert!(is_refused(roots(), root.clone()));
    let root_jobs = true;
    assert!(!is_refused(roots(), WorkerHello { root_jobs, ..root }));
}

#[test]
fn worker_with_invalid_hello_is_rejected() {
    let own = || JobOwners::Own("ann".to_owned());
    let other = |change: fn(&mut WorkerHello)| {
        let mut hello = hello("ann");
        change(&mut hello);
        is_refused(own(), hello)
    };
    assert!(other(|hello| hello.version += 1));
    assert!(other(|hello| hello.service = Some("another".to_owned())));
    assert!(other(|hello| hello.name = "\u{1b}[2J".to_owned()));
    assert!(other(|hello| hello.name = "x".repeat(65)));
    assert!(other(|hello| hello.identity.clear()));
    assert!(!other(|hello| hello.service = Some("this".to_owned())));
}

/// Returns a session with a worker in its first incarnation, ready to run attempts.
fn registered_worker() -> (TestSession, Gate) {
    registered_worker_until(None)
}

fn registered_worker_until(until: Option<Instant>) -> (TestSession, Gate) {
    let mut session = TestSession::new(JobOwners::Own("ann".to_owned()));
    session.exchange(0, WorkerMessage::Hello(hello("ann")));
    let capacity = session.pool.capacity().unwrap();
    let running = Vec::new();
    let offer = WorkerMessage::Offer {
        capacity,
        running,
        until,
        desktop: None,
    };
    assert_eq!(session.exchange(0, offer), [], "the gate learns it first");
    let rules = builtin_registry().named("fcfs").unwrap();
    let mut gate = Gate::new(rules.build(Market::None), Market::None);
    let changes = session.pool.membership_changes(&gate, Span::ZERO, || false);
    let [
        ServiceCommand::WorkerUp {
            worker,
            incarnation: epoch,
            nodes,
            memory,
            offer,
        },
    ] = changes.as_slice()
    else {
        panic!("{changes:?}");
    };
    let input = GateInput::WorkerUp {
        worker: *worker,
        incarnation: *epoch,
        nodes: *nodes,
        memory: *memory,
        terms: HostTerms {
            closes: offer.closes,
            ..HostTerms::default()
        },
        in_use: None,
    };
    gate.handle(Instant::ZERO, input, &mut Vec::new()).unwrap();
    session.pool.sync_with_gate(&gate);
    assert_eq!(session.sent(), [ServerMessage::Taken]);
    assert_eq!(
        session.pool.membership_changes(&gate, Span::ZERO, || false),
        [],
        "said once"
    );
    (session, gate)
}

#[test]
fn moved_end_is_planned_with_once_the_worker_has_taken_it() {
    let (mut session, mut gate) = registered_worker_until(Some(Instant::from_secs(600)));
    let before = gate.closing_of(WorkerId(1)).unwrap();
    let until = Instant::from_secs(500);
    assert!(!session.pool.move_end("another", until));
    assert!(!session.pool.move_end("blade", Instant::from_secs(600)));
    assert!(session.pool.move_end("blade", until));
    assert_eq!(session.sent(), [ServerMessage::Until(until)]);
    let changes = |session: &mut TestSession, gate: &Gate, ahead| {
        session.pool.membership_changes(gate, ahead, || false)
    };
    assert_eq!(
        changes(&mut session, &gate, Span::ZERO),
        [],
        "not confirmed"
    );
    assert_eq!(session.exchange(1, WorkerMessage::Until(until)), []);
    // The same command comes again until the gate has it: the disk may be full. Ends are those of the host's clock.
    let ahead = Span::from_secs(40);
    let closes = before - Span::from_secs(100) + ahead;
    let command = ServiceCommand::WorkerCloses {
        worker: WorkerId(1),
        incarnation: 1,
        closes,
    };
    for _ in 0..2 {
        let again = changes(&mut session, &gate, ahead);
        assert_eq!(again, std::slice::from_ref(&command));
    }
    let input = GateInput::WorkerCloses {
        worker: WorkerId(1),
        incarnation: 1,
        closes,
    };
    gate.handle(Instant::ZERO, input, &mut Vec::new()).unwrap();
    assert_eq!(gate.closing_of(WorkerId(1)), Some(closes));
    assert_eq!(changes(&mut session, &gate, ahead), []);
}

#[test]
fn moved_end_of_another_incarnation_is_refused() {
    let (_, mut gate) = registered_worker_until(Some(Instant::from_secs(600)));
    let input = GateInput::WorkerCloses {
        worker: WorkerId(1),
        incarnation: 2,
        closes: Instant::from_secs(500),
    };
    let refused = gate.handle(Instant::ZERO, input, &mut Vec::new());
    assert_eq!(refused, Err(tollgate_gate::InputError::StaleWorker));
}

#[test]
fn slowdown_of_a_host_reaches_the_gate_if_it_is_measured_and_ends_if_it_is_not() {
    let slow = |slowdown| WorkerMessage::Slowed(HostSlowdown::nearest(slowdown));
    let command = |slowdown| ServiceCommand::WorkerSlowed {
        worker: WorkerId(1),
        incarnation: 1,
        slowdown: HostSlowdown::nearest(slowdown),
    };
    let (mut session, mut gate) = registered_worker_until(None);
    let changes = |session: &mut TestSession, gate: &Gate| {
        session.pool.membership_changes(gate, Span::ZERO, || false)
    };
    session.exchange(1, slow(3.0));
    assert_eq!(changes(&mut session, &gate), [], "nothing is measured");
    session.pool.measure_load(Duration::from_secs(5));
    session.exchange(1, slow(3.0));
    for _ in 0..2 {
        // Until the gate has it.
        assert_eq!(changes(&mut session, &gate), [command(3.0)]);
    }
    let input = GateInput::WorkerSlowed {
        worker: WorkerId(1),
        incarnation: 1,
        slowdown: HostSlowdown::nearest(3.0),
    };
    gate.handle(Instant::ZERO, input, &mut Vec::new()).unwrap();
    assert_eq!(changes(&mut session, &gate), []);
    session.exchange(1, slow(1.0));
    assert_eq!(changes(&mut session, &gate), [command(1.0)]);
    session.exchange(1, slow(3.0));
    session.pool.local_meter = None;
    assert_eq!(changes(&mut session, &gate), [command(1.0)]);
}

#[test]
fn exporter_of_a_host_counts_in_place_of_its_worker() {
    let (mut session, gate) = registered_worker_until(None);
    session.pool.measure_load(Duration::from_secs(5));
    let slow = HostSlowdown::nearest;
    session.exchange(1, WorkerMessage::Slowed(slow(3.0)));
    let found = |session: &mut TestSession| {
        let changes = session.pool.membership_changes(&gate, Span::ZERO, || false);
        let [ServiceCommand::WorkerSlowed { slowdown, .. }] = changes[..] else {
            panic!("{changes:?}");
        };
        slowdown
    };
    session
        .pool
        .set_exported("blade".to_owned(), Some(slow(1.5)));
    session
        .pool
        .set_exported("other".to_owned(), Some(slow(9.0)));
    assert_eq!(found(&mut session), slow(1.5));
    session.pool.set_exported("blade".to_owned(), None);
    assert_eq!(found(&mut session), slow(3.0));
}

#[test]
fn slowdown_is_reported_only_in_the_present_incarnation() {
    let (mut session, gate) = registered_worker_until(None);
    session.pool.measure_load(Duration::from_secs(5));
    let slow = WorkerMessage::Slowed(HostSlowdown::nearest(3.0));
    assert_eq!(session.exchange(2, slow), [ServerMessage::Over]);
    let changes = session.pool.membership_changes(&gate, Span::ZERO, || false);
    assert_eq!(changes, []);
}

fn end(job: u64) -> AttemptReport {
    AttemptReport {
        attempt: AttemptId {
            job,
            task: 0,
            attempt: 1,
        },
        event: AttemptEvent::Ended(AttemptOutcome {
            status: AttemptStatus::Exited(0),
            killed: None,
            at: Instant::ZERO,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            suspended: Span::ZERO,
            peak_memory: None,
        }),
    }
}

#[test]
fn frame_of_another_incarnation_is_answered_and_ignored() {
    let (mut session, _) = registered_worker();
    let report = end(1);
    session.pool.assign(report.attempt, WorkerId(1));
    let answer = session.exchange(7, WorkerMessage::Reports(vec![report]));
    assert_eq!(answer, [ServerMessage::Over]);
    assert_eq!(session.pool.inbox, []);
    assert!(!session.is_connected());
}

#[test]
fn reports_about_attempts_of_other_workers_are_ignored() {
    let (mut session, _) = registered_worker();
    let [its, another_s, unowned] = [end(1), end(2), end(3)];
    session.pool.assign(its.attempt, WorkerId(1));
    session.pool.assign(another_s.attempt, WorkerId(2));
    let done = vec![another_s.attempt, unowned.attempt];
    let reports = vec![its.clone(), another_s, unowned];
    let answer = session.exchange(1, WorkerMessage::Reports(reports));
    assert_eq!(answer, [ServerMessage::Acknowledge(done)]);
    assert_eq!(session.pool.inbox, [its]);
}

#[test]
fn duplicate_frame_is_ignored_and_missing_frame_disconnects() {
    let (mut session, _) = registered_worker();
    assert_eq!(
        session.exchange(1, WorkerMessage::Beat(4)),
        [ServerMessage::Beat(4)]
    );
    session.seq -= 1;
    assert_eq!(session.exchange(1, WorkerMessage::Beat(4)), []);
    assert!(session.is_connected());
    session.seq += 1;
    assert_eq!(session.exchange(1, WorkerMessage::Beat(5)), []);
    assert!(!session.is_connected());
}

/// Says hello as the pilot `identity` of a site on a new connection, and returns its number.
fn pilot(session: &mut TestSession, connection: u64, identity: &str) -> WorkerId {
    let sink = RecordingSink::default();
    let hello = WorkerHello {
        identity: identity.to_owned(),
        name: identity.to_owned(),
        is_pilot: true,
        site: Some("north".to_owned()),
        ..hello("ann")
    };
    let frame = WorkerFrame {
        incarnation: 0,
        seq: 1,
        message: WorkerMessage::Hello(hello),
    };
    for kind in [
        ConnectionEventKind::Opened(Box::new(sink)),
        ConnectionEventKind::Received(frame),
    ] {
        session
            .pool
            .on_connection_event(ConnectionEvent { connection, kind });
    }
    let stage = session.pool.connections[&connection].stage;
    stage.worker().expect("it is identified")
}

#[test]
fn pilots_that_come_together_have_numbers_of_their_own() {
    let mut session = TestSession::new(JobOwners::Own("ann".to_owned()));
    // Neither has offered anything yet.
    let [first, second] = [(2, "a"), (3, "b")].map(|(line, name)| pilot(&mut session, line, name));
    assert_ne!(first, second);
    // The first one goes before it has offered anything. Its number is free, and it gets another one.
    session.pool.on_connection_event(ConnectionEvent {
        connection: 2,
        kind: ConnectionEventKind::Closed,
    });
    assert_eq!(pilot(&mut session, 4, "c"), first);
    let again = pilot(&mut session, 5, "a");
    assert!(again != first && again != second);
}
