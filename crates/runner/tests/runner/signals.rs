//! Tests of signals that users send to running tasks.

use std::fs;

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptStatus, KillReason, WarningSignal};

use crate::common::{EngineTestDir, script, wait_for_ends, wait_for_start, wait_until};

/// Returns a task that says when it is ready, writes a line at each SIGUSR1, and ends with 7 once it may.
fn handler(home: &EngineTestDir, job: u64) -> LaunchSpec {
    let text = "trap 'echo caught >> caught' USR1; echo > ready
        while [ ! -e go ]; do sleep 0.02; done; exit 7";
    let mut launch = script(job, text);
    launch.dir = home.path().to_owned();
    launch
}

fn n_caught(home: &EngineTestDir) -> usize {
    let text = fs::read_to_string(home.path().join("caught"));
    text.map_or(0, |text| text.lines().count())
}

fn status(end: &AttemptEvent) -> AttemptStatus {
    match end {
        AttemptEvent::Ended(ended) => ended.status.clone(),
        other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn task_that_handles_a_signal_goes_on_also_under_the_next_runner() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let launch = handler(&home, 1);
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let pid = wait_for_start(&mut engine, launch.attempt);
        wait_until("it is ready", || home.path().join("ready").exists());
        let signal = WarningSignal::Usr1;
        engine.signal(&[launch.attempt], signal).expect("sent");
        wait_until("it is signalled", || n_caught(&home) == 1);
        let runner = engine.runner_pid().expect("a runner");
        crate::common::signal(runner, rustix::process::Signal::KILL);
        drop(engine);

        let mut engine = home.open();
        assert_eq!(wait_for_start(&mut engine, launch.attempt), pid);
        engine.signal(&[launch.attempt], signal).expect("sent");
        wait_until("it is signalled again", || n_caught(&home) == 2);
        fs::write(home.path().join("go"), "").expect("written");
        // Who watches a process of an earlier runner sees that it ended, not how.
        wait_for_ends(&mut engine, &[launch.attempt]);
        engine.signal(&[launch.attempt], signal).expect("ignored");
        assert_eq!(n_caught(&home), 2);
    }
}

#[test]
fn killed_task_gets_no_signal() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let mut launch = handler(&home, 1);
    let text = "trap 'echo caught >> caught' USR1; trap '' TERM; echo > ready
        while :; do sleep 0.02; done";
    launch.argv = vec!["sh".into(), "-c".into(), text.into()];
    engine
        .start(std::slice::from_ref(&launch))
        .expect("taken on");
    wait_for_start(&mut engine, launch.attempt);
    wait_until("it is ready", || home.path().join("ready").exists());
    engine
        .kill(&[launch.attempt], KillReason::Cancelled)
        .expect("killed");
    engine
        .signal(&[launch.attempt], WarningSignal::Usr1)
        .expect("ignored");
    let ends = wait_for_ends(&mut engine, &[launch.attempt]);
    assert_eq!(status(&ends[0]), AttemptStatus::Signalled(9));
    assert_eq!(n_caught(&home), 0);
}
