//! Tests that a runner leaves nothing behind after it has become idle or was killed.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tollgate_engine::Engine;
use tollgate_model::KillReason;
use tollgate_runner::LocalEngine;

use crate::common::{
    self, EngineTestDir, command, is_alive, script, wait_for_ends, wait_for_start, wait_until,
};

/// Returns the control groups that an attempt was started in, from its `started` file.
fn groups_of(home: &EngineTestDir, engine: &mut LocalEngine) -> Vec<PathBuf> {
    let launch = command(1, &["sleep", "600"]);
    engine.start(std::slice::from_ref(&launch)).unwrap();
    wait_for_start(engine, launch.attempt);
    let file = home.settings.state_dir.join("attempts").join("1.0.1");
    let text = fs::read_to_string(file).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let groups = header["group"].as_object().unwrap();
    engine
        .kill(&[launch.attempt], KillReason::Cancelled)
        .unwrap();
    wait_for_ends(engine, &[launch.attempt]);
    engine.acknowledge(&[launch.attempt]).unwrap();
    let paths = groups.values().filter_map(|path| path.as_str());
    paths.map(PathBuf::from).collect()
}

fn none_is_left(groups: &[PathBuf]) -> bool {
    let parents = groups.iter().filter_map(|group| group.parent());
    !parents.into_iter().any(Path::exists)
}

#[test]
fn exiting_runner_removes_its_cgroups() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let groups = groups_of(&home, &mut engine);
    assert!(groups.iter().all(|group| group.exists()));
    drop(engine);
    wait_until("its control groups are gone", || none_is_left(&groups));
}

#[test]
fn cgroups_of_a_killed_runner_are_removed_by_any_later_runner() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let groups = groups_of(&home, &mut engine);
    common::signal(engine.runner_pid().unwrap(), Signal::KILL);
    drop(engine);
    drop(home);
    // The killed runner has to be gone before the lock on its groups is free.
    wait_until("its control groups are gone", || {
        drop(EngineTestDir::new().open());
        none_is_left(&groups)
    });
}

#[test]
fn runner_without_its_directory_exits_and_ends_all_tasks() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let runner = engine.runner_pid().unwrap();
        let launch = script(1, "trap '' TERM; while :; do sleep 1; done");
        engine.start(std::slice::from_ref(&launch)).unwrap();
        let task = wait_for_start(&mut engine, launch.attempt);
        fs::remove_dir_all(&home.settings.state_dir).unwrap();
        wait_until("the task is gone", || !is_alive(task));
        drop(engine);
        wait_until("the runner is gone", || !is_alive(runner));
    }
}
