//! Tests that shares take effect, with control groups and without. `benches/shares.rs` measures
//! their accuracy.

use tollgate_engine::capacity::ShareEnforcement;
use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{KillReason, NodeId, Span};
use tollgate_runner::LocalEngine;

use crate::common::{self, EngineTestDir, poll_until, script, wait_until};

const LOOP: &str = "while :; do :; done";

/// Returns a task of node 0.
fn task(job: u64, text: &str, share: f64) -> LaunchSpec {
    let mut launch = script(job, text);
    launch.nodes = vec![NodeId(0)];
    launch.share = share;
    launch
}

/// Starts tasks, two of them loops that end with the test only, and waits until these have used a second
/// of processor time together. Returns the ratio of the time of the loop of job 1 to that of job 2.
fn ratio(
    home: &EngineTestDir,
    launches: &[LaunchSpec],
    change: impl FnOnce(&mut LocalEngine, &[LaunchSpec]),
) -> f64 {
    let mut engine = home.open();
    engine.start(launches).expect("taken on");
    let loops = [1, 2].map(|job| script(job, LOOP).attempt);
    poll_until(&mut engine, |reports| {
        let started = |attempt| reports.iter().any(|report| report.attempt == attempt);
        loops.into_iter().all(started)
    });
    change(&mut engine, launches);
    let engine = std::sync::Mutex::new(engine);
    let used = || {
        let running = engine.lock().expect("free").running().expect("it answers");
        let used: Vec<f64> = running.iter().map(|task| task.cpu.as_secs_f64()).collect();
        [used[0], used[1]]
    };
    let before = used();
    let since = || {
        let now = used();
        [now[0] - before[0], now[1] - before[1]]
    };
    wait_until("they run", || since().iter().sum::<f64>() > 1.0);
    let [first, second] = since();
    let mut engine = engine.into_inner().expect("free");
    engine.kill(&loops, KillReason::Cancelled).expect("killed");
    common::wait_for_ends(&mut engine, &loops);
    first / second.max(Span::TICK.as_secs_f64())
}

#[test]
fn running_tasks_get_their_shares() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let ratio = ratio(
            &home,
            &[task(1, LOOP, 0.75), task(2, LOOP, 0.25)],
            |_, _| (),
        );
        assert!(ratio > 1.5, "3:1 came out as {ratio}:1");
    }
}

#[test]
fn changed_shares_take_effect() {
    let home = EngineTestDir::new();
    let capacity = home.open().capacity().expect("known");
    // Only root can make a task less nice again.
    if capacity.shares == ShareEnforcement::Nice && !tollgate_needs::root() {
        return;
    }
    let launches = [task(1, LOOP, 0.75), task(2, LOOP, 0.25)];
    let ratio = ratio(&home, &launches, |engine, launches| {
        let swapped = [(launches[0].attempt, 0.25), (launches[1].attempt, 0.75)];
        engine.set_shares(&swapped).expect("set");
    });
    assert!(ratio < 0.67, "1:3 came out as {ratio}:1");
}

#[test]
fn follower_has_the_share_of_the_task_before_it() {
    let home = EngineTestDir::new();
    let before = task(3, "sleep 0.1", 0.25);
    let mut follower = task(1, LOOP, 1.0);
    follower.after = Some(before.attempt);
    let ratio = ratio(&home, &[before, follower, task(2, LOOP, 0.75)], |_, _| ());
    assert!(ratio < 0.67, "1:3 came out as {ratio}:1");
}
