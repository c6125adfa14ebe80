use std::sync::{Arc, Mutex};

use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{LaunchSpec, SimEngine, SimHost, SpreadAccess};

use super::*;
use crate::departure::WorkerEnd;
use crate::protocol::ServerMessage;
use tollgate_model::{EvictionCause, LimitWarning, NodeId, Span, WarningSignal};

/// The disk of a worker, with its persistent state.
type Disk = Arc<Mutex<AgentPersistentState>>;

/// Starts a worker process that goes on from a disk, on a host that ends at `until`.
fn worker(disk: &Disk, until: Option<Instant>) -> WorkerAgent<SimEngine> {
    let state = disk.lock().unwrap().clone();
    let written = Arc::clone(disk);
    let world = SimHost::new(1, 1 << 30, SimProgram::of_command);
    let config = AgentConfig {
        identity: "one".to_owned(),
        name: "blade".to_owned(),
        user: "ann".to_owned(),
        all_users: false,
        root_jobs: false,
        site: None,
        end: until.map(|until| WorkerEnd {
            until,
            since_boot: Duration::from_secs(600),
        }),
        max_idle: None,
        desktop: None,
        is_pilot: false,
        environment: Box::new(|_| Vec::new()),
        open_engine: Box::new(move |_| Ok(SimEngine::open(&world))),
        probe: None,
        resolve_owner: Box::new(|_| Ok(None)),
        access: SpreadAccess {
            program: "/opt/tollgate".into(),
            socket: "/run/spread".into(),
            service: None,
        },
        write_state: Box::new(move |state| {
            written.lock().unwrap().clone_from(state);
            Ok(())
        }),
    };
    WorkerAgent::new(config, state)
}

/// Returns the incarnation that a worker names on a new connection.
fn named_incarnation(worker: &mut WorkerAgent<SimEngine>) -> u32 {
    worker.connected(Duration::ZERO);
    let WorkerMessage::Hello(hello) = worker.drain_outgoing().remove(0).message else {
        panic!("expected a hello");
    };
    hello.incarnation
}

fn welcome(worker: &mut WorkerAgent<SimEngine>, goes_on: bool) {
    let message = ServerMessage::Welcome {
        load_interval_ms: None,
        service: "this".to_owned(),
        grace_ms: 60_000,
        goes_on,
    };
    let frame = WorkerFrame {
        incarnation: 0,
        seq: 1,
        message,
    };
    worker.on_frame(frame, Duration::ZERO).unwrap();
}

#[test]
fn incarnation_with_ended_tasks_is_not_continued_by_the_next_process() {
    let disk: Disk = Arc::new(Mutex::new(AgentPersistentState {
        service: Some("this".to_owned()),
        incarnation: 3,
        until: None,
    }));
    assert_eq!(named_incarnation(&mut worker(&disk, None)), 3);
    // A process with another end ends the tasks, and is killed before the service has taken its offer.
    let mut other = worker(&disk, Some(Instant::from_secs(600)));
    assert_eq!(named_incarnation(&mut other), 0);
    welcome(&mut other, false);
    drop(other);
    // For the service the third incarnation still goes on: it would send the same attempts again.
    assert_eq!(named_incarnation(&mut worker(&disk, None)), 0);
}

/// Makes a worker register for the first incarnation, and returns the number of the service's last message.
fn register(worker: &mut WorkerAgent<SimEngine>) -> u64 {
    named_incarnation(worker);
    welcome(worker, false);
    worker.tick(Duration::ZERO, Instant::ZERO).unwrap();
    receive(worker, 2, ServerMessage::Taken);
    assert!(worker.is_registered());
    2
}

fn receive(worker: &mut WorkerAgent<SimEngine>, seq: u64, message: ServerMessage) {
    let frame = WorkerFrame {
        incarnation: 1,
        seq,
        message,
    };
    worker.on_frame(frame, Duration::ZERO).unwrap();
    worker.drain_outgoing();
}

#[test]
fn worker_leaves_by_an_end_that_was_moved() {
    for (moved_s, stays_until_s) in [(300, 280), (900, 880)] {
        let disk: Disk = Arc::default();
        let mut worker = worker(&disk, Some(Instant::from_secs(600)));
        let last = register(&mut worker);
        let until = Instant::from_secs(moved_s);
        receive(&mut worker, last + 1, ServerMessage::Until(until));
        assert_eq!(disk.lock().unwrap().until, Some(until));
        assert_eq!(worker.end_time(), Some(until));
        let at = |secs| Duration::from_secs(secs);
        worker.depart_if_due(at(stays_until_s));
        assert_eq!(worker.departure_reason(), None, "{moved_s}");
        worker.depart_if_due(at(stays_until_s + 20));
        assert_eq!(worker.departure_reason(), Some("its end is near"));
    }
}

#[test]
fn incarnation_goes_on_with_an_end_that_was_moved() {
    let disk: Disk = Arc::default();
    let mut first = worker(&disk, Some(Instant::from_secs(600)));
    let last = register(&mut first);
    let until = Instant::from_secs(900);
    receive(&mut first, last + 1, ServerMessage::Until(until));
    assert_eq!(named_incarnation(&mut first), 1);
    assert_eq!(named_incarnation(&mut worker(&disk, Some(until))), 1);
}

#[test]
fn worker_without_a_known_end_is_given_none() {
    let disk: Disk = Arc::default();
    let mut worker = worker(&disk, None);
    let last = register(&mut worker);
    receive(
        &mut worker,
        last + 1,
        ServerMessage::Until(Instant::from_secs(9)),
    );
    assert_eq!(
        (worker.end_time(), disk.lock().unwrap().until),
        (None, None)
    );
}

#[test]
fn pilot_that_is_never_registered_leaves_after_a_minute() {
    let disk: Disk = Arc::default();
    let mut pilot = worker(&disk, None);
    pilot.config.is_pilot = true;
    for secs in [0, 59] {
        pilot.depart_if_due(Duration::from_secs(secs));
        assert_eq!(pilot.departure_reason(), None, "{secs}");
    }
    pilot.depart_if_due(Duration::from_secs(60));
    let reason = pilot.departure_reason();
    assert_eq!(reason, Some("not registered within a minute"));
}

#[test]
fn use_that_changes_while_the_worker_registers_is_reported() {
    let disk: Disk = Arc::default();
    let mut worker = worker(&disk, None);
    let in_use = HostPresence {
        in_use: Some(EvictionCause::User),
        ..HostPresence::default()
    };
    worker.desktop = Some(DesktopState::new(DesktopSettings {
        suspend_for: Duration::ZERO,
        suspend_memory: None,
        presence: in_use,
        facts: Vec::new(),
    }));
    named_incarnation(&mut worker);
    welcome(&mut worker, false);
    worker.tick(Duration::ZERO, Instant::ZERO).unwrap();
    // The offer says that the host is in use, and the service has not answered yet.
    worker.set_presence(HostPresence::default(), Duration::ZERO);
    worker.drain_outgoing();
    let frame = WorkerFrame {
        incarnation: 1,
        seq: 2,
        message: ServerMessage::Taken,
    };
    worker.on_frame(frame, Duration::ZERO).unwrap();
    let sent = worker.drain_outgoing();
    let is_free = |frame: &WorkerFrame<WorkerMessage>| frame.message == WorkerMessage::InUse(None);
    assert!(sent.iter().any(is_free), "{sent:?}");
}

#[test]
fn attempt_gets_its_signal_before_the_desktop_closes() {
    let disk: Disk = Arc::default();
    let mut worker = worker(&disk, None);
    worker.desktop = Some(DesktopState::new(DesktopSettings {
        suspend_for: Duration::ZERO,
        suspend_memory: None,
        presence: HostPresence {
            closes: Some(Instant::from_secs(1000)),
            ..HostPresence::default()
        },
        facts: Vec::new(),
    }));
    let world = SimHost::new(1, 1 << 30, SimProgram::of_command);
    let mut engine = SimEngine::open(&world);
    let attempt = AttemptId {
        job: 1,
        task: 0,
        attempt: 1,
    };
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["sleep", "600"], "/");
    launch.limits.warning = Some(LimitWarning {
        signal: WarningSignal::Usr1,
        before: Span::from_secs(30),
    });
    engine.start(&[launch]).unwrap();
    engine.poll(Duration::ZERO).unwrap();
    worker.engine = Some(engine);
    worker.warn_before_close(Duration::from_secs(5), Instant::from_secs(960));
    assert_eq!(worker.warning_due(), Some(Duration::from_secs(15)));
    assert_eq!(worker.running().unwrap(), [attempt]);
    worker.warn_before_close(Duration::from_secs(15), Instant::from_secs(970));
    assert_eq!(worker.warning_due(), None);
    // A simulated program handles no signal.
    assert_eq!(worker.running().unwrap(), []);
}
