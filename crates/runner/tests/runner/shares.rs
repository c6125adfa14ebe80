//! Tests that shares take effect, with control groups and without. `benches/shares.rs` measures
//! their accuracy.

use tollgate_engine::capacity::ShareEnforcement;
use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{KillReason, NodeId, Span};
use tollgate_runner::LocalEngine;

use crate::common::{self, EngineTestDir, poll_until, script, wait_until};

/// Runs two loops on node 0 until they have used a second of processor time together. Returns the
/// ratio of the first loop's time to the second's.
fn ratio(
    home: &EngineTestDir,
    shares: [f64; 2],
    change: impl FnOnce(&mut LocalEngine, &[LaunchSpec]),
) -> f64 {
    let mut engine = home.open();
    let loops = [
        script(1, "while :; do :; done"),
        script(2, "while :; do :; done"),
    ];
    let launches: Vec<LaunchSpec> = loops
        .into_iter()
        .zip(shares)
        .map(|(mut launch, share)| {
            launch.nodes = vec![NodeId(0)];
            launch.share = share;
            launch
        })
        .collect();
    engine.start(&launches).expect("taken on");
    poll_until(&mut engine, |reports| reports.len() == 2);
    change(&mut engine, &launches);
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
    let attempts: Vec<_> = launches.iter().map(|launch| launch.attempt).collect();
    engine
        .kill(&attempts, KillReason::Cancelled)
        .expect("killed");
    common::wait_for_ends(&mut engine, &attempts);
    first / second.max(Span::TICK.as_secs_f64())
}

#[test]
fn running_tasks_get_their_shares() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let ratio = ratio(&home, [0.75, 0.25], |_, _| ());
        assert!(ratio > 1.5, "3:1 came out as {ratio}:1");
    }
}

#[test]
fn changed_shares_take_effect() {
    let home = EngineTestDir::new();
    let capacity = home.open().capacity().expect("known");
    if capacity.shares == ShareEnforcement::Nice && !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make a task less nice again");
        return;
    }
    let ratio = ratio(&home, [0.75, 0.25], |engine, launches| {
        let swapped = [(launches[0].attempt, 0.25), (launches[1].attempt, 0.75)];
        engine.set_shares(&swapped).expect("set");
    });
    assert!(ratio < 0.67, "1:3 came out as {ratio}:1");
}
