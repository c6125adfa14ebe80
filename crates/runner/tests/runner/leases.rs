//! Tests that tasks under a lease end with it, whichever process is killed or stopped, and that a
//! runner that is asked to end ends its tasks.

use std::cell::Cell;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use tollgate_engine::{BootTime, Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptOutcome, AttemptStatus, KillReason};
use tollgate_runner::LocalEngine;

use crate::common::{
    EngineTestDir, command, is_alive, script, signal, wait_for_ends, wait_for_start, wait_until,
};

/// A span long enough to kill a process meanwhile.
const SOON: Duration = Duration::from_millis(500);

/// Returns a task that ignores the request to end.
fn launch_ignoring_sigterm(job: u64) -> LaunchSpec {
    script(job, "trap '' TERM; while :; do sleep 1; done")
}

fn start(engine: &mut LocalEngine, launch: &LaunchSpec) -> u32 {
    engine.start(std::slice::from_ref(launch)).unwrap();
    wait_for_start(engine, launch.attempt)
}

#[track_caller]
fn ended(engine: &mut LocalEngine, launch: &LaunchSpec) -> AttemptOutcome {
    match wait_for_ends(engine, &[launch.attempt]).remove(0) {
        AttemptEvent::Ended(ended) => ended,
        other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
    }
}

/// Returns the watcher of a runner.
fn watcher_of(runner: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{runner}/task/{runner}/children")).ok()?;
    let watches = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.ends_with(b"--watch\0")
    };
    let mut pids = children.split_whitespace().flat_map(str::parse);
    pids.find(watches)
}

#[test]
fn expired_lease_ends_attempts_although_the_caller_is_connected() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let launch = command(1, &["sleep", "600"]);
    start(&mut engine, &launch);
    engine.renew_lease(BootTime::now() + SOON).unwrap();
    let ended = ended(&mut engine, &launch);
    assert_eq!(ended.status, AttemptStatus::Signalled(15));
    assert_eq!(ended.killed, Some(KillReason::Evicted));
}

#[test]
fn attempt_is_not_started_after_the_lease_ended() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    engine.renew_lease(BootTime::now()).unwrap();
    let late = script(1, &format!("echo > {}/ran", home.path().display()));
    engine.start(std::slice::from_ref(&late)).unwrap();
    let end = ended(&mut engine, &late);
    assert!(
        matches!(end.status, AttemptStatus::NotStarted(_)),
        "{end:?}"
    );
    assert_eq!(end.killed, Some(KillReason::Evicted));
    assert!(!home.path().join("ran").exists());

    engine.renew_lease(BootTime::now() + 100 * SOON).unwrap();
    let next = command(2, &["true"]);
    engine.start(std::slice::from_ref(&next)).unwrap();
    assert_eq!(ended(&mut engine, &next).status, AttemptStatus::Exited(0));
}

#[test]
fn child_delayed_beyond_the_lease_does_not_run_its_program() {
    let home = EngineTestDir::new().with_fault("child-stopped");
    let mut engine = home.open();
    let launch = script(1, &format!("echo > {}/ran", home.path().display()));
    engine.start(std::slice::from_ref(&launch)).unwrap();
    let file = home.settings.state_dir.join("attempts/1.0.1");
    let child = Cell::new(0);
    wait_until("the child stops", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let stat = text.lines().nth(1).unwrap_or_default();
        let pid = stat.split(' ').next().unwrap_or_default();
        child.set(pid.parse().unwrap_or(0));
        let now = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        now.contains(") T ")
    });
    engine.renew_lease(BootTime::now()).unwrap();
    signal(child.get(), Signal::CONT);
    let end = ended(&mut engine, &launch);
    assert_eq!(
        end.status.to_string(),
        "not started: start: the lease has ended"
    );
    assert_eq!(end.killed, Some(KillReason::Evicted));
    assert!(!home.path().join("ran").exists());
}

#[test]
fn task_of_a_killed_runner_ends_with_its_lease() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let task = start(&mut engine, &launch_ignoring_sigterm(1));
        engine.renew_lease(BootTime::now() + SOON).unwrap();
        signal(engine.runner_pid().unwrap(), Signal::KILL);
        drop(engine);
        wait_until("the task is gone", || !is_alive(task));
    }
}

#[test]
fn task_of_a_stopped_runner_ends_with_its_lease() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let launch = launch_ignoring_sigterm(1);
        let task = start(&mut engine, &launch);
        engine.renew_lease(BootTime::now() + SOON).unwrap();
        let runner = engine.runner_pid().unwrap();
        signal(runner, Signal::STOP);
        wait_until("the task is gone", || !is_alive(task));
        signal(runner, Signal::CONT);
        let end = ended(&mut engine, &launch);
        assert_eq!(end.status, AttemptStatus::Signalled(9));
        assert_eq!(end.killed, Some(KillReason::Evicted));
    }
}

#[test]
fn killed_watcher_is_replaced() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let task = start(&mut engine, &launch_ignoring_sigterm(1));
    let runner = engine.runner_pid().unwrap();
    let first = watcher_of(runner).unwrap();
    signal(first, Signal::KILL);
    wait_until("there is another watcher", || {
        watcher_of(runner).is_some_and(|watcher| watcher != first)
    });
    engine.renew_lease(BootTime::now() + SOON).unwrap();
    signal(runner, Signal::STOP);
    wait_until("the task is gone", || !is_alive(task));
    signal(runner, Signal::CONT);
}

#[test]
fn watcher_exits_after_its_runner_when_nothing_runs() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let launch = command(1, &["sleep", "600"]);
    let task = start(&mut engine, &launch);
    let runner = engine.runner_pid().unwrap();
    let watcher = watcher_of(runner).unwrap();
    signal(watcher, Signal::TERM);
    signal(runner, Signal::KILL);
    wait_until("the runner is gone", || !is_alive(runner));
    assert!(is_alive(watcher), "it watches what the runner has left");
    signal(task, Signal::KILL);
    wait_until("the watcher is gone", || !is_alive(watcher));
}

#[test]
fn next_runner_continues_the_lease_with_its_own_watcher() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let launch = command(1, &["sleep", "600"]);
    let task = start(&mut engine, &launch);
    let first = watcher_of(engine.runner_pid().unwrap()).unwrap();
    signal(engine.runner_pid().unwrap(), Signal::KILL);
    drop(engine);
    let mut engine = home.open();
    assert_eq!(wait_for_start(&mut engine, launch.attempt), task);
    engine.renew_lease(BootTime::now() + 100 * SOON).unwrap();
    wait_until("the first watcher is gone", || !is_alive(first));
    assert!(is_alive(task));
    let runner = engine.runner_pid().unwrap();
    assert!(watcher_of(runner).is_some());
    engine.renew_lease(BootTime::now()).unwrap();
    wait_for_ends(&mut engine, &[launch.attempt]);
}

#[test]
fn terminated_runner_ends_its_tasks_and_exits() {
    for stop_signal in [Signal::TERM, Signal::INT] {
        let mut home = EngineTestDir::new();
        if stop_signal == Signal::INT {
            home.settings.lease = None;
        }
        let mut engine = home.open();
        let (gentle, ignoring) = (command(1, &["sleep", "600"]), launch_ignoring_sigterm(2));
        let tasks = [start(&mut engine, &gentle), start(&mut engine, &ignoring)];
        let runner = engine.runner_pid().unwrap();
        signal(runner, stop_signal);
        wait_until("the runner is gone", || !is_alive(runner));
        assert!(!tasks.into_iter().any(is_alive), "it leaves nothing");
        // The next runner reports their ends.
        for (launch, signal) in [(gentle, 15), (ignoring, 9)] {
            let end = ended(&mut engine, &launch);
            assert_eq!(end.status, AttemptStatus::Signalled(signal));
            assert_eq!(end.killed, Some(KillReason::Evicted));
        }
    }
}

#[test]
fn runner_survives_the_loss_of_its_terminal() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let task = start(&mut engine, &command(1, &["sleep", "600"]));
    let runner = engine.runner_pid().unwrap();
    signal(runner, Signal::HUP);
    let next = command(2, &["true"]);
    engine.start(std::slice::from_ref(&next)).unwrap();
    assert_eq!(ended(&mut engine, &next).status, AttemptStatus::Exited(0));
    assert_eq!(engine.runner_pid(), Some(runner));
    assert!(is_alive(task));
}
