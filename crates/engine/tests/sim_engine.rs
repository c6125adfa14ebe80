//! Conformance of the in-memory engine, and its injected faults.

use std::time::Duration;

use tollgate_engine::sim_engine::{SimFaults, SimProgram};
use tollgate_engine::{Engine, EngineError, LaunchSpec, SimEngine, SimHost, conformance};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus, Instant, NodeId, Span};

const GIB: u64 = 1 << 30;

fn launch(job: u64, seconds: &str, share: f64) -> LaunchSpec {
    let attempt = AttemptId {
        job,
        task: 0,
        attempt: 1,
    };
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["work", seconds], "/");
    launch.share = share;
    launch
}

#[test]
fn sim_engine_conforms() {
    let world = SimHost::new(2, GIB, SimProgram::of_command);
    conformance::run(&mut || Box::new(SimEngine::open(&world)));
}

#[test]
fn sim_engine_conforms_with_late_and_duplicate_reports() {
    let world = SimHost::new(2, GIB, SimProgram::of_command);
    world.set_faults(SimFaults {
        double_reports: true,
        report_delay: Span::from_micros(30_000),
        ..SimFaults::default()
    });
    conformance::run(&mut || Box::new(SimEngine::open(&world)));
}

#[test]
fn progress_is_proportional_to_share() {
    let world = SimHost::new(1, GIB, SimProgram::of_command);
    let mut engine = SimEngine::open(&world);
    // At 3:1 the first task has its 3 s after 4 s; then the second task has 1 s done and is alone.
    engine
        .start(&[launch(1, "3", 0.75), launch(2, "3", 0.25)])
        .expect("both start");
    world.advance_to(Instant::from_secs(100));
    let reports = engine.poll(Duration::ZERO).expect("it answers");
    let ends: Vec<_> = reports
        .iter()
        .filter_map(|report| match &report.event {
            AttemptEvent::Ended(ended) => Some((report.attempt.job, ended.at, ended.cpu)),
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => None,
        })
        .collect();
    let three = Span::from_secs(3);
    assert_eq!(
        ends,
        [
            (1, Instant::from_secs(4), three),
            (2, Instant::from_secs(6), three)
        ]
    );
}

#[test]
fn failed_calls_take_effect_as_configured() {
    let world = SimHost::new(1, GIB, SimProgram::of_command);
    let mut engine = SimEngine::open(&world);
    let one = launch(1, "3", 1.0);
    world.set_faults(SimFaults {
        fail_before: 1,
        fail_after: 1,
        ..SimFaults::default()
    });
    let not_done = engine.start(std::slice::from_ref(&one));
    assert!(matches!(not_done, Err(EngineError::Unreachable { .. })));
    assert_eq!(world.next_end(), None);
    let done = engine.start(std::slice::from_ref(&one));
    assert!(matches!(
        done,
        Err(EngineError::TimedOut { call: "start", .. })
    ));
    engine.start(std::slice::from_ref(&one)).expect("repeated");
    assert_eq!(engine.running().expect("it answers").len(), 1);
}

#[test]
fn vanished_task_is_reported_lost() {
    let world = SimHost::new(1, GIB, |_| SimProgram {
        status: AttemptStatus::Exited(3),
        ..SimProgram::busy(Span::from_secs(5))
    });
    let mut engine = SimEngine::open(&world);
    let one = launch(1, "", 1.0);
    engine.start(std::slice::from_ref(&one)).expect("it starts");
    world.mark_lost(one.attempt);
    let reports = engine.poll(Duration::ZERO).expect("it answers");
    let at = Instant::ZERO;
    assert_eq!(
        reports.last().map(|report| &report.event),
        Some(&AttemptEvent::Lost { at })
    );
    assert_eq!(engine.running().expect("it answers"), []);
}
