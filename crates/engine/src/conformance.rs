//! Conformance checks that every engine must pass.
//!
//! An engine's test calls [`run`] with a function that opens the engine. The checks open the engine
//! again and again, as a restarted caller does. Each check panics with its expectation, like a
//! test.

use std::time::Duration;

use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, KillReason,
    LaunchFailure, LaunchFault, NodeId, Span, WarningSignal,
};

use crate::{Engine, EngineError, LaunchSpec, Retryability};

/// Runs every check on the engines that `open` returns. All of them must be the same engine, as a
/// caller sees it after a restart. Programs needed: `true`, `false`, `sleep` and `sh`.
pub fn run(open: &mut dyn FnMut() -> Box<dyn Engine>) {
    let mut subject = EngineUnderTest { open, jobs: 0 };
    let checks: &[fn(&mut EngineUnderTest<'_>)] = &[
        capacity_is_reported,
        exit_codes_and_signals_are_distinguished,
        unstartable_attempt_ends_as_not_started,
        invalid_launch_is_rejected,
        attempt_started_twice_runs_once,
        cancelled_attempt_ends,
        signal_reaches_a_running_attempt,
        suspended_attempt_goes_on_when_resumed,
        suspended_attempt_is_killed,
        suspension_does_not_use_up_the_time_limit,
        attempt_that_ignores_sigterm_is_killed,
        attempt_ends_at_its_time_limit,
        shares_can_be_set,
        end_is_reported_until_acknowledged,
        running_attempts_are_found_again,
        unknown_attempts_are_ignored,
    ];
    for check in checks {
        check(&mut subject);
    }
}

/// The maximum wait of a check for an event that must happen, and happens at once in a correct
/// engine.
const TIMEOUT: Duration = Duration::from_secs(60);

struct EngineUnderTest<'a> {
    open: &'a mut dyn FnMut() -> Box<dyn Engine>,
    jobs: u64,
}

impl EngineUnderTest<'_> {
    fn open(&mut self) -> Box<dyn Engine> {
        (self.open)()
    }

    /// Returns a launch of `argv` on node 0 with an attempt that was never submitted before.
    fn launch(&mut self, argv: &[&str]) -> LaunchSpec {
        self.jobs += 1;
        let attempt = AttemptId {
            job: 1_000 + self.jobs,
            task: 3,
            attempt: 2,
        };
        let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], argv.iter().copied(), "/");
        launch.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        launch
    }

    /// Runs one launch to its end, acknowledges it, and returns its outcome.
    fn run_to_end(&mut self, launch: &LaunchSpec) -> AttemptOutcome {
        let mut engine = self.open();
        engine
            .start(std::slice::from_ref(launch))
            .expect("it starts");
        let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
        engine
            .acknowledge(&[launch.attempt])
            .expect("it is acknowledged");
        ended
    }
}

/// Waits until `attempt` has ended. Returns whether it started, and its outcome.
fn wait_for_end(engine: &mut dyn Engine, attempt: AttemptId) -> (bool, AttemptOutcome) {
    let mut started = false;
    let mut waited = Duration::ZERO;
    loop {
        for report in poll(engine, &mut waited) {
            match report.event {
                AttemptEvent::Started(_) if report.attempt == attempt => started = true,
                AttemptEvent::Ended(ended) if report.attempt == attempt => return (started, ended),
                AttemptEvent::Lost { .. } if report.attempt == attempt => {
                    panic!("{attempt} was lost")
                }
                AttemptEvent::Started(_) | AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => {}
            }
        }
    }
}

fn wait_for_start(engine: &mut dyn Engine, attempt: AttemptId) {
    let mut waited = Duration::ZERO;
    let is_start = |report: &AttemptReport| {
        report.attempt == attempt && matches!(report.event, AttemptEvent::Started(_))
    };
    while !poll(engine, &mut waited).iter().any(is_start) {}
}

/// Polls in steps, until [`TIMEOUT`] has passed.
fn poll(engine: &mut dyn Engine, waited: &mut Duration) -> Vec<AttemptReport> {
    const STEP: Duration = Duration::from_millis(100);
    assert!(*waited < TIMEOUT, "nothing came for {waited:?}");
    *waited += STEP;
    engine.poll(STEP).expect("it can be polled")
}

fn capacity_is_reported(subject: &mut EngineUnderTest<'_>) {
    let capacity = subject.open().capacity().expect("capacity is known");
    assert!(capacity.nodes > 0, "at least one node");
    assert!(capacity.memory_per_node > 0, "some memory");
    assert!(!capacity.to_string().is_empty(), "in words");
}

fn exit_codes_and_signals_are_distinguished(subject: &mut EngineUnderTest<'_>) {
    for (argv, status) in [
        (&["true"][..], AttemptStatus::Exited(0)),
        (&["false"], AttemptStatus::Exited(1)),
        (&["sh", "-c", "exit 137"], AttemptStatus::Exited(137)),
        (&["sh", "-c", "kill -9 $$"], AttemptStatus::Signalled(9)),
    ] {
        let launch = subject.launch(argv);
        let mut engine = subject.open();
        engine
            .start(std::slice::from_ref(&launch))
            .expect("it starts");
        let (started, ended) = wait_for_end(engine.as_mut(), launch.attempt);
        engine
            .acknowledge(&[launch.attempt])
            .expect("it is acknowledged");
        assert!(started, "{argv:?}: the start comes before the end");
        assert_eq!(ended.status, status, "{argv:?}");
        assert_eq!(ended.killed, None, "{argv:?} ended by itself");
        assert!(ended.wall >= Span::ZERO && ended.cpu >= Span::ZERO);
    }
}

fn unstartable_attempt_ends_as_not_started(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["no-such-program-anywhere"]);
    let ended = subject.run_to_end(&launch);
    let AttemptStatus::NotStarted(LaunchFailure {
        step,
        reason,
        fault,
    }) = &ended.status
    else {
        panic!("{:?} ran", launch.argv);
    };
    assert_eq!((step.as_str(), *fault), ("program", LaunchFault::Job));
    assert!(!reason.is_empty());
    assert_eq!(ended.wall, Span::ZERO);
}

fn invalid_launch_is_rejected(subject: &mut EngineUnderTest<'_>) {
    let good = subject.launch(&["true"]);
    let mut bad = subject.launch(&["true"]);
    bad.nodes = vec![NodeId(u32::MAX)];
    let mut engine = subject.open();
    let error = engine
        .start(&[good.clone(), bad])
        .expect_err("no such node");
    assert!(
        matches!(error, EngineError::Invalid { field: "nodes", .. }),
        "{error}"
    );
    assert_eq!(error.retryability(), Retryability::Never);
    let known = engine.running().expect("it answers");
    assert!(
        known.iter().all(|running| running.attempt != good.attempt),
        "nothing of the batch"
    );
    for share in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = engine
            .set_shares(&[(good.attempt, share)])
            .expect_err("no such share");
        assert_eq!(error.retryability(), Retryability::Never);
    }
}

fn attempt_started_twice_runs_once(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sleep", "0.2"]);
    let twice = [launch.clone(), launch.clone()];
    let mut engine = subject.open();
    engine.start(&twice).expect("it starts");
    engine.start(&twice).expect("it is known");
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.status, AttemptStatus::Exited(0));
    engine.start(&twice).expect("its end is known");
    let known = engine.running().expect("it answers");
    assert!(
        known
            .iter()
            .all(|running| running.attempt != launch.attempt),
        "it is over"
    );
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn cancelled_attempt_ends(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sleep", "600"]);
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    engine
        .kill(&[launch.attempt], KillReason::Cancelled)
        .expect("it is killed");
    engine
        .kill(&[launch.attempt], KillReason::Evicted)
        .expect("the first reason stands");
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.status, AttemptStatus::Signalled(15));
    assert_eq!(ended.killed, Some(KillReason::Cancelled));
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

/// Sends a signal to an attempt that runs and to one that is not known. An engine may refuse.
fn signal_reaches_a_running_attempt(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sleep", "600"]);
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    let unknown = AttemptId {
        attempt: launch.attempt.attempt + 1,
        ..launch.attempt
    };
    let sent = engine.signal(&[unknown, launch.attempt], WarningSignal::Usr1);
    let expected = match sent {
        Ok(()) => AttemptStatus::Signalled(WarningSignal::Usr1.number()),
        Err(EngineError::Unsupported { .. }) => {
            let killed = engine.kill(&[launch.attempt], KillReason::Cancelled);
            killed.expect("it is killed");
            AttemptStatus::Signalled(15)
        }
        Err(error) => panic!("{error}"),
    };
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.status, expected);
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

/// Starts a launch, suspends it twice and an unknown attempt with it. Returns None if the engine cannot suspend, once
/// the attempt has ended.
fn suspended(subject: &mut EngineUnderTest<'_>, launch: &LaunchSpec) -> Option<Box<dyn Engine>> {
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    let unknown = AttemptId {
        attempt: launch.attempt.attempt + 1,
        ..launch.attempt
    };
    for _ in 0..2 {
        match engine.suspend(&[unknown, launch.attempt]) {
            Ok(suspended) => {
                let suspended: Vec<AttemptId> = suspended.iter().map(|held| held.attempt).collect();
                assert_eq!(suspended, [launch.attempt]);
            }
            Err(EngineError::Unsupported { .. }) => {
                end(engine.as_mut(), launch.attempt);
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    Some(engine)
}

/// Cancels an attempt, and returns its outcome.
fn end(engine: &mut dyn Engine, attempt: AttemptId) -> AttemptOutcome {
    engine
        .kill(&[attempt], KillReason::Cancelled)
        .expect("it is killed");
    let (_, ended) = wait_for_end(engine, attempt);
    engine.acknowledge(&[attempt]).expect("it is acknowledged");
    ended
}

/// Polls for three seconds, in which no attempt may end.
fn poll_without_an_end(engine: &mut dyn Engine) {
    for _ in 0..30 {
        let reports = engine.poll(Duration::from_millis(100));
        let reports = reports.expect("it can be polled");
        assert_eq!(reports, [], "a suspended attempt does not end");
    }
}

fn suspended_attempt_goes_on_when_resumed(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sleep", "1"]);
    let Some(mut engine) = suspended(subject, &launch) else {
        return;
    };
    poll_without_an_end(engine.as_mut());
    let running = engine.running().expect("it answers");
    assert_eq!(running.len(), 1, "it is still a running attempt");
    assert!(running[0].is_suspended);
    for _ in 0..2 {
        engine.resume(&[launch.attempt]).expect("it goes on");
    }
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.status, AttemptStatus::Exited(0));
    assert_eq!(ended.killed, None);
    assert!(ended.suspended >= Span::from_secs(1), "{ended:?}");
    assert!(ended.wall >= ended.suspended, "{ended:?}");
    engine.resume(&[launch.attempt]).expect("it is over");
    engine.suspend(&[launch.attempt]).expect("it is over");
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn suspended_attempt_is_killed(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sleep", "600"]);
    let Some(mut engine) = suspended(subject, &launch) else {
        return;
    };
    let ended = end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.status, AttemptStatus::Signalled(15), "it is asked");
    assert_eq!(ended.killed, Some(KillReason::Cancelled));
}

fn suspension_does_not_use_up_the_time_limit(subject: &mut EngineUnderTest<'_>) {
    let mut launch = subject.launch(&["sleep", "600"]);
    let limit = Span::from_secs(2);
    launch.limits.wall = Some(limit);
    let Some(mut engine) = suspended(subject, &launch) else {
        return;
    };
    poll_without_an_end(engine.as_mut());
    engine.resume(&[launch.attempt]).expect("it goes on");
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(ended.killed, Some(KillReason::TimeLimit));
    assert!(ended.wall - ended.suspended >= limit, "{ended:?}");
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn attempt_that_ignores_sigterm_is_killed(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sh", "-c", "trap '' TERM; sleep 600"]);
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    engine
        .kill(&[launch.attempt], KillReason::Evicted)
        .expect("it is killed");
    let (_, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert!(
        matches!(ended.status, AttemptStatus::Signalled(_)),
        "{}",
        ended.status
    );
    assert_eq!(ended.killed, Some(KillReason::Evicted));
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn attempt_ends_at_its_time_limit(subject: &mut EngineUnderTest<'_>) {
    let mut launch = subject.launch(&["sleep", "600"]);
    launch.limits.wall = Some(Span::from_micros(300_000));
    let ended = subject.run_to_end(&launch);
    assert_eq!(ended.status, AttemptStatus::Signalled(15));
    assert_eq!(ended.killed, Some(KillReason::TimeLimit));
    assert!(
        ended.wall >= Span::from_micros(300_000),
        "not before its time"
    );
}

fn shares_can_be_set(subject: &mut EngineUnderTest<'_>) {
    let mut launch = subject.launch(&["sleep", "600"]);
    launch.share = 0.25;
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    for share in [1e-9, 0.75, 1e9] {
        engine
            .set_shares(&[(launch.attempt, share)])
            .expect("any weight will do");
    }
    engine
        .kill(&[launch.attempt], KillReason::Cancelled)
        .expect("it is killed");
    wait_for_end(engine.as_mut(), launch.attempt);
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn end_is_reported_until_acknowledged(subject: &mut EngineUnderTest<'_>) {
    let launch = subject.launch(&["sh", "-c", "exit 7"]);
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    let first = wait_for_end(engine.as_mut(), launch.attempt);
    drop(engine);
    let mut engine = subject.open();
    let again = wait_for_end(engine.as_mut(), launch.attempt);
    assert_eq!(first, again, "the same report, word for word");
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
    drop(engine);
    let mut engine = subject.open();
    let rest = engine
        .poll(Duration::from_millis(200))
        .expect("it can be polled");
    assert_eq!(rest, [], "no report comes again");
}

fn running_attempts_are_found_again(subject: &mut EngineUnderTest<'_>) {
    // Long enough for an engine to be opened again.
    let launch = subject.launch(&["sleep", "3"]);
    let mut engine = subject.open();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it starts");
    wait_for_start(engine.as_mut(), launch.attempt);
    let before = engine.running().expect("it answers");
    drop(engine);
    let mut engine = subject.open();
    let after = engine.running().expect("it answers");
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].attempt, launch.attempt);
    assert!(before[0].started.is_some());
    assert_eq!(before[0].started, after[0].started, "the same process");
    let (started, ended) = wait_for_end(engine.as_mut(), launch.attempt);
    assert!(started, "reported again when the engine is opened");
    assert_eq!(
        ended.status,
        AttemptStatus::Exited(0),
        "nothing is lost by a restart"
    );
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
}

fn unknown_attempts_are_ignored(subject: &mut EngineUnderTest<'_>) {
    let unknown = subject.launch(&["true"]).attempt;
    let mut engine = subject.open();
    engine
        .kill(&[unknown], KillReason::Cancelled)
        .expect("it does not run");
    engine.set_shares(&[(unknown, 1.0)]).expect("nothing to do");
    engine.acknowledge(&[unknown]).expect("nothing to forget");
    let rest = engine.poll(Duration::ZERO).expect("it can be polled");
    assert_eq!(rest, [], "no word of it");
}
