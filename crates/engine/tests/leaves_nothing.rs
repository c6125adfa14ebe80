//! What a runner leaves behind when nobody wants it any more, or when it is killed: nothing.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Home, command, fates, script, wait_for_start, wait_until};
use tollgate_engine::{Engine, Event, KillReason, LocalEngine, Status};

/// Whether the process is there and has not ended.
fn lives(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| !environ.is_empty())
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let signal = rustix::process::Signal::KILL;
    let _ = pid.map(|pid| rustix::process::kill_process(pid, signal));
}

/// The control groups that an attempt was started in, by its `started` file.
fn groups_of(home: &Home, engine: &mut LocalEngine) -> Vec<PathBuf> {
    let launch = command(1, &["sleep", "600"]);
    engine.start(std::slice::from_ref(&launch)).unwrap();
    wait_for_start(engine, launch.attempt);
    let file = home.settings.folder.join("attempts").join("1.0.1");
    let text = fs::read_to_string(file).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let groups = header["group"].as_object().unwrap();
    engine
        .kill(&[launch.attempt], KillReason::Cancelled)
        .unwrap();
    fates(engine, &[launch.attempt]);
    engine.acknowledge(&[launch.attempt]).unwrap();
    let paths = groups.values().filter_map(|path| path.as_str());
    paths.map(PathBuf::from).collect()
}

fn none_is_left(groups: &[PathBuf]) -> bool {
    let parents = groups.iter().filter_map(|group| group.parent());
    !parents.into_iter().any(Path::exists)
}

#[test]
fn a_runner_that_ends_removes_its_control_groups() {
    let home = Home::new();
    let mut engine = home.open();
    let groups = groups_of(&home, &mut engine);
    assert!(groups.iter().all(|group| group.exists()));
    drop(engine);
    wait_until("its control groups are gone", || none_is_left(&groups));
}

#[test]
fn the_control_groups_of_a_killed_runner_are_removed_by_the_next_one_anywhere() {
    let home = Home::new();
    let mut engine = home.open();
    let groups = groups_of(&home, &mut engine);
    kill(engine.runner_pid().unwrap());
    drop(engine);
    drop(home);
    // The killed one has to be gone before the lock on its groups is free.
    wait_until("its control groups are gone", || {
        drop(Home::new().open());
        none_is_left(&groups)
    });
}

#[test]
fn without_its_folder_a_runner_ends_with_all_that_it_runs() {
    for home in [Home::new(), Home::without_control_groups()] {
        let mut engine = home.open();
        let runner = engine.runner_pid().unwrap();
        let launch = script(1, "trap '' TERM; while :; do sleep 1; done");
        engine.start(std::slice::from_ref(&launch)).unwrap();
        let task = wait_for_start(&mut engine, launch.attempt);
        fs::remove_dir_all(&home.settings.folder).unwrap();
        wait_until("the task is gone", || !lives(task));
        drop(engine);
        wait_until("the runner is gone", || !lives(runner));
    }
}

#[test]
fn what_nobody_asks_for_ends_with_its_lease() {
    let mut home = Home::new();
    home.settings.lease = Some(Duration::from_millis(100));
    let mut engine = home.open();
    let launch = command(1, &["sleep", "600"]);
    engine.start(std::slice::from_ref(&launch)).unwrap();
    let task = wait_for_start(&mut engine, launch.attempt);
    // While somebody is connected it goes on, however long that takes.
    engine.poll(Duration::from_millis(300)).unwrap();
    assert!(lives(task));
    drop(engine);
    wait_until("the task is gone", || !lives(task));
    let mut engine = home.open();
    let fate = fates(&mut engine, &[launch.attempt]).remove(0);
    let Event::Ended(ended) = fate else {
        panic!("{fate:?}");
    };
    assert_eq!(ended.status, Status::Signalled(15));
    assert_eq!(ended.killed, Some(KillReason::Evicted));
}
