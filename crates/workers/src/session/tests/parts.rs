//! Tests of parts of attempts on the worker of a session.

use tollgate_engine::part::HOST_VARIABLE;
use tollgate_engine::{AttemptPart, LaunchLimits, PartEvent, PartRequest};
use tollgate_model::{AttemptStart, NodeId};
use tollgate_service::LOCAL_WORKER;

use super::*;
use crate::parts::{PartAttempt, PartCall, PartSink};

#[derive(Clone, Default)]
struct RecordingPartSink(Arc<Mutex<Vec<PartEvent>>>);

impl RecordingPartSink {
    fn take(&self) -> Vec<PartEvent> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl PartSink for RecordingPartSink {
    fn send(&mut self, event: PartEvent) {
        self.0.lock().unwrap().push(event);
    }
}

const WHOLE: AttemptId = AttemptId {
    job: 7,
    task: 0,
    attempt: 1,
};

fn request(attempt: AttemptId, host: &str) -> PartRequest {
    PartRequest {
        attempt,
        host: host.to_owned(),
        env: vec![("A".to_owned(), "b".to_owned())],
    }
}

/// An attempt of 4 GiB on the worker's node and one that belongs to no connected worker.
fn attempt() -> PartAttempt {
    PartAttempt {
        owner: 1_000,
        user: None,
        nodes: vec![NodeId(0), NodeId(1)],
        umask: 0o077,
        limits: LaunchLimits {
            memory: Some(4 << 30),
            ..LaunchLimits::default()
        },
        share: 0.5,
    }
}

/// Returns a session in which [`WHOLE`] runs on the host of the service.
fn running_whole() -> TestSession {
    let (mut session, _) = registered_worker();
    session.pool.assign(WHOLE, LOCAL_WORKER);
    session
}

/// Asks for a part as a process of `user` on the host of the service.
fn request_part(
    session: &mut TestSession,
    user: &str,
    request: PartRequest,
    attempt: Option<PartAttempt>,
) -> RecordingPartSink {
    let sink = RecordingPartSink::default();
    let call = PartCall::local(user.to_owned(), request, Box::new(sink.clone()));
    session.pool.request_part(call);
    for call in session.pool.take_part_calls() {
        session.pool.start_part(call, attempt.clone());
    }
    sink
}

/// Starts a part of [`WHOLE`] on the worker, and returns its id.
fn start_part(session: &mut TestSession) -> (AttemptId, RecordingPartSink) {
    let sink = request_part(session, "ann", request(WHOLE, "blade"), Some(attempt()));
    match session.sent().as_slice() {
        [ServerMessage::Start(launches)] => (launches[0].launch.attempt, sink),
        other => panic!("{other:?}"),
    }
}

fn end_of(attempt: AttemptId) -> AttemptReport {
    AttemptReport { attempt, ..end(1) }
}

#[test]
fn part_is_an_attempt_of_its_own_with_its_share_of_the_limits() {
    let mut session = running_whole();
    request_part(
        &mut session,
        "ann",
        request(WHOLE, "blade"),
        Some(attempt()),
    );
    let sent = session.sent();
    let [ServerMessage::Start(launches)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let (launch, owner) = (&launches[0].launch, &launches[0].owner);
    let part = AttemptPart::of(launch.attempt).unwrap();
    assert_eq!(
        (part.whole(), part.number(), owner.as_str()),
        (WHOLE, 1, "ann")
    );
    assert_eq!(launch.nodes, [NodeId(0)]);
    assert_eq!(launch.limits.memory, Some(2 << 30));
    assert_eq!((launch.umask, launch.share), (0o077, 0.5));
    let variables = [("A", "b"), (HOST_VARIABLE, "blade")];
    assert_eq!(
        launch.env,
        variables.map(|(name, value)| (name.into(), value.into()))
    );
    let (second, _) = start_part(&mut session);
    assert_ne!(second, launch.attempt);
}

#[test]
fn request_without_a_right_to_the_attempt_is_refused() {
    let other = AttemptId { job: 8, ..WHOLE };
    for (what, user, request, attempt) in [
        ("user", "bob", request(WHOLE, "blade"), Some(attempt())),
        ("running", "ann", request(WHOLE, "blade"), None),
        ("here", "ann", request(other, "blade"), Some(attempt())),
        ("host", "ann", request(WHOLE, "sword"), Some(attempt())),
    ] {
        let mut session = running_whole();
        let sink = request_part(&mut session, user, request, attempt);
        assert!(
            matches!(sink.take().as_slice(), [PartEvent::Refused(_)]),
            "{what}"
        );
        assert_eq!(session.sent(), [], "{what}");
    }
}

#[test]
fn process_on_a_worker_requests_a_part_by_its_worker() {
    let mut session = running_whole();
    let part_message = |call| WorkerMessage::Part {
        call,
        user: "ann".to_owned(),
        request: request(WHOLE, "blade"),
    };
    // The attempt runs on the host of the service, so no process on the worker may ask for it.
    assert_eq!(session.exchange(1, part_message(5)), []);
    for call in session.pool.take_part_calls() {
        session.pool.start_part(call, Some(attempt()));
    }
    let sent = session.sent();
    let [ServerMessage::Part { call: 5, event }] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert!(matches!(event, PartEvent::Refused(_)));
    // With a part there it may, as a daemon of mpirun does.
    let (part, _) = start_part(&mut session);
    session.exchange(1, part_message(6));
    for call in session.pool.take_part_calls() {
        session.pool.start_part(call, Some(attempt()));
    }
    let sent = session.sent();
    let [ServerMessage::Start(launches)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let second = launches[0].launch.attempt;
    assert_ne!(second, part);
    session.exchange(1, WorkerMessage::Reports(vec![end_of(second)]));
    session.pool.poll(Instant::ZERO);
    let event = PartEvent::Ended("exit 0".to_owned());
    assert_eq!(
        session.sent(),
        [
            ServerMessage::Part { call: 6, event },
            ServerMessage::Acknowledge(vec![second])
        ]
    );
}

#[test]
fn reports_of_a_part_reach_the_requesting_process_only() {
    let mut session = running_whole();
    let (part, sink) = start_part(&mut session);
    let start = AttemptStart {
        pid: None,
        at: Instant::ZERO,
    };
    let started = AttemptReport {
        attempt: part,
        event: AttemptEvent::Started(start),
    };
    session.exchange(1, WorkerMessage::Reports(vec![started]));
    assert_eq!(session.pool.poll(Instant::ZERO).0, []);
    assert_eq!(sink.take(), [PartEvent::Started]);
    session.exchange(1, WorkerMessage::Reports(vec![end_of(part)]));
    assert_eq!(session.pool.poll(Instant::ZERO).0, []);
    assert!(matches!(sink.take().as_slice(), [PartEvent::Ended(_)]));
    assert_eq!(session.sent(), [ServerMessage::Acknowledge(vec![part])]);
}

#[test]
fn end_of_an_attempt_ends_its_parts_and_waits_for_them() {
    let mut session = running_whole();
    let (part, _) = start_part(&mut session);
    session.pool.inbox.push(end_of(WHOLE));
    assert_eq!(
        session.pool.poll(Instant::ZERO).0,
        [],
        "its nodes are not free"
    );
    let kill = ServerMessage::Kill(vec![part], KillReason::Cancelled);
    assert_eq!(session.sent(), [kill]);
    // The engine may report the end again.
    session.pool.inbox.push(end_of(WHOLE));
    assert_eq!(session.pool.poll(Instant::ZERO).0, []);
    session.sent();
    session.exchange(1, WorkerMessage::Reports(vec![end_of(part)]));
    assert_eq!(session.pool.poll(Instant::ZERO).0, [end_of(WHOLE)]);
    let sink = request_part(
        &mut session,
        "ann",
        request(WHOLE, "blade"),
        Some(attempt()),
    );
    assert!(matches!(sink.take().as_slice(), [PartEvent::Refused(_)]));
}

#[test]
fn killed_attempt_takes_its_parts_along() {
    let mut session = running_whole();
    let (part, _) = start_part(&mut session);
    let kill = |pool: &mut WorkerPool<SimEngine>| {
        pool.kill(&[WHOLE], KillReason::TimeLimit, Instant::ZERO)
    };
    kill(&mut session.pool).unwrap();
    let expected = ServerMessage::Kill(vec![part], KillReason::TimeLimit);
    assert_eq!(session.sent(), [expected]);
    session.pool.set_shares(&[(WHOLE, 0.25)]).unwrap();
    assert_eq!(
        session.sent(),
        [ServerMessage::SetShares(vec![(part, 0.25)])]
    );
}

#[test]
fn next_attempt_waits_for_the_parts_of_the_last() {
    let mut session = running_whole();
    let (part, _) = start_part(&mut session);
    // The host of the first attempt is gone, and the attempt with it.
    session.pool.locations.remove(&WHOLE);
    let next = AttemptId {
        attempt: 2,
        ..WHOLE
    };
    let launch = tollgate_engine::LaunchSpec::new(next, vec![NodeId(0)], ["true"], "/");
    let request = crate::LaunchRequest {
        owner: 1_000,
        launch,
    };
    session.pool.start(vec![request], Instant::ZERO).unwrap();
    assert_eq!(session.sent(), []);
    session.exchange(1, WorkerMessage::Reports(vec![end_of(part)]));
    session.pool.poll(Instant::ZERO);
    let sent = session.sent();
    assert!(
        sent.iter()
            .any(|message| matches!(message, ServerMessage::Start(_))),
        "{sent:?}"
    );
}

#[test]
fn lost_worker_ends_the_wait_for_its_parts() {
    let (mut session, mut gate) = registered_worker();
    session.pool.assign(WHOLE, LOCAL_WORKER);
    let (_, sink) = start_part(&mut session);
    session.pool.inbox.push(end_of(WHOLE));
    assert_eq!(session.pool.poll(Instant::ZERO).0, []);
    assert_eq!(session.pool.max_idle(), Some(LeaseTimings::default().grace));
    let lost = GateInput::WorkerLost {
        worker: WorkerId(1),
        incarnation: 1,
    };
    gate.handle(Instant::ZERO, lost, &mut Vec::new()).unwrap();
    session.pool.sync_with_gate(&gate);
    assert!(matches!(sink.take().as_slice(), [PartEvent::Ended(_)]));
    assert_eq!(session.pool.max_idle(), Some(Duration::ZERO));
    assert_eq!(session.pool.poll(Instant::ZERO).0, [end_of(WHOLE)]);
}
