//! Tests of tasks that exceed their limits: memory, disk, slots.

use std::path::Path;
use std::process::Command;

use tollgate_engine::capacity::{MemoryEnforcement, ProcessEnforcement};
use tollgate_engine::{Engine, EngineError, Retryability};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus, KillReason};
use tollgate_needs::{Need, lacks};
use tollgate_runner::LocalEngine;

use crate::common::{EngineTestDir, command, run, script, wait_for_ends, wait_for_start};

#[test]
fn task_beyond_its_memory_limit_fails() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let mut launch = script(
            1,
            "head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null",
        );
        launch.limits.memory = Some(64 << 20);
        let ended = run(&mut engine, &launch);
        assert!(!ended.status.is_success(), "{}", ended.status);
        if engine.capacity().expect("known").memory == MemoryEnforcement::Cgroup {
            assert_eq!(ended.killed, Some(KillReason::MemoryLimit));
        }
        // The limit belonged to that task, and not to its slot.
        let mut launch = script(
            2,
            "head -c 100000000 /dev/zero | tail -c 100000000 > /dev/null",
        );
        launch.limits.memory = None;
        assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    }
}

#[test]
fn task_without_memory_limit_gets_the_share_of_its_nodes() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let capacity = engine.capacity().expect("known");
    if capacity.memory != MemoryEnforcement::Cgroup {
        lacks(Need::Cgroups, "memory is not limited by them");
        return;
    }
    // The limit as the task sees it, in either version of control groups.
    let words = "
        v1=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
        v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
        cat /sys/fs/cgroup/memory$v1/memory.limit_in_bytes || cat /sys/fs/cgroup$v2/memory.max";
    let limit =
        |engine: &mut LocalEngine, job: u64, change: fn(&mut tollgate_engine::LaunchLimits)| {
            let mut launch = script(job, words);
            launch.dir = home.path().to_owned();
            launch.output = Some("limit".into());
            change(&mut launch.limits);
            run(engine, &launch);
            let written = std::fs::read_to_string(home.path().join("limit")).expect("written");
            written
                .lines()
                .last()
                .and_then(|line| line.parse::<u64>().ok())
        };
    let Some(own) = limit(&mut engine, 1, |limits| limits.memory = Some(1 << 26)) else {
        lacks(Need::Cgroups, "a task does not find its own");
        return;
    };
    assert_eq!(own, 1 << 26);
    let share = limit(&mut engine, 2, |limits| limits.share_of_memory = true);
    let share = share.expect("a limit");
    let page = 1 << 16;
    assert!(share.abs_diff(capacity.memory_per_node) < page, "{share}");
    let both = limit(&mut engine, 3, |limits| {
        limits.share_of_memory = true;
        limits.memory = Some(1 << 27);
    });
    assert_eq!(both, Some(1 << 27));
    let none = limit(&mut engine, 4, |_| ());
    assert!(none.is_none_or(|none| none > 1 << 50), "{none:?}");
}

#[test]
fn process_limit_applies_to_its_task_and_not_to_the_next_in_the_slot() {
    let mut home = EngineTestDir::new();
    home.settings.slots_per_node = 1;
    home.settings.nodes = Some(1);
    let mut engine = home.open();
    if engine.capacity().expect("known").processes != ProcessEnforcement::Cgroup {
        lacks(Need::Cgroups, "processes are not limited by them");
        return;
    }
    let many = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & done";
    let mut status = |job, most| {
        let mut launch = script(job, many);
        launch.limits.processes = most;
        run(&mut engine, &launch).status
    };
    assert_eq!(status(1, Some(11)), AttemptStatus::Exited(0));
    assert_ne!(status(2, Some(8)), AttemptStatus::Exited(0));
    assert_eq!(status(3, Some(11)), AttemptStatus::Exited(0));
    assert_ne!(status(4, Some(8)), AttemptStatus::Exited(0));
    assert_eq!(status(5, None), AttemptStatus::Exited(0));
}

#[test]
fn task_is_ended_for_excess_output_but_not_for_other_files() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let mut launch = script(1, "while :; do head -c 100000 /dev/zero; done");
    launch.dir = home.path().to_owned();
    launch.output = Some("long".into());
    launch.limits.output = Some(1 << 20);
    let ended = run(&mut engine, &launch);
    assert_eq!(ended.killed, Some(KillReason::OutputLimit));
    assert_eq!(ended.status, AttemptStatus::Signalled(15));
    let mut launch = script(2, "head -c 5000000 /dev/zero > elsewhere; sleep 1.5");
    launch.dir = home.path().to_owned();
    launch.output = Some("short".into());
    launch.limits.output = Some(1 << 20);
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    // Earlier contents of the file do not count.
    let mut launch = script(3, "echo more; sleep 1.5");
    launch.dir = home.path().to_owned();
    launch.output = Some("elsewhere".into());
    launch.append = true;
    launch.limits.output = Some(1 << 20);
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
}

#[test]
fn task_without_a_free_slot_waits() {
    let mut home = EngineTestDir::new();
    home.settings.slots_per_node = 1;
    home.settings.nodes = Some(1);
    let mut engine = home.open();
    let launches = [
        command(1, &["sleep", "600"]),
        command(2, &["true"]),
        command(3, &["true"]),
    ];
    let attempts = launches.each_ref().map(|launch| launch.attempt);
    engine.start(&launches).expect("taken on");
    wait_for_start(&mut engine, attempts[0]);
    let running = engine.running().expect("it answers");
    let waiting = running.iter().filter(|running| running.started.is_none());
    assert_eq!(waiting.count(), 2);
    // A waiting attempt can be killed, and then has not run.
    engine
        .kill(&attempts[2..], KillReason::Evicted)
        .expect("killed");
    engine
        .kill(&attempts[..1], KillReason::Cancelled)
        .expect("killed");
    let statuses: Vec<_> = wait_for_ends(&mut engine, &attempts)
        .into_iter()
        .map(|event| match event {
            AttemptEvent::Ended(ended) => (ended.status.to_string(), ended.killed),
            other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("signal 15", Some(KillReason::Cancelled)),
        ("exit 0", None),
        (
            "not started: start: it was killed before it started",
            Some(KillReason::Evicted),
        ),
    ];
    assert_eq!(
        statuses,
        expected.map(|(status, why)| (status.to_owned(), why))
    );
}

#[test]
fn ten_thousand_tasks_each_run_once() {
    const TASKS: u32 = 10_000;
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let launch = |task| {
        let mut launch = command(1, &["true"]);
        launch.attempt.task = task;
        launch
    };
    let launches: Vec<_> = (0..TASKS).map(launch).collect();
    let attempts: Vec<AttemptId> = launches.iter().map(|launch| launch.attempt).collect();
    engine.start(&launches).expect("taken on");
    let ends = wait_for_ends(&mut engine, &attempts);
    let succeeded = ends.iter().filter(|end| match end {
        AttemptEvent::Ended(ended) => ended.status.is_success(),
        AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => false,
    });
    assert_eq!(succeeded.count(), TASKS as usize);
    engine.acknowledge(&attempts).expect("acknowledged");
    assert_eq!(engine.running().expect("it answers"), []);
}

/// A file system of one mebibyte, mounted until it is dropped.
struct SmallTestDisk(std::path::PathBuf);

impl SmallTestDisk {
    /// Mounts the file system. None if this user may not mount one.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).expect("a folder");
        let options = ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(at).output();
        let done = mounted.is_ok_and(|output| output.status.success());
        done.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallTestDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn full_disk_loses_no_end_report() {
    let mut home = EngineTestDir::new();
    let disk = home.path().join("disk");
    let Some(_disk) = SmallTestDisk::mount(&disk) else {
        lacks(Need::Mounts, "this user may not mount a file system");
        return;
    };
    home.settings.state_dir = disk.join("runner");
    let mut engine = home.open();
    let mut running = script(1, "while [ ! -e go ]; do sleep 0.01; done; exit 5");
    let mut fill = script(2, "cat /dev/zero > fill");
    fill.dir = disk.clone();
    running.dir = home.path().to_owned();
    engine
        .start(std::slice::from_ref(&running))
        .expect("there is room yet");
    wait_for_start(&mut engine, running.attempt);
    assert_eq!(
        run(&mut engine, &fill).status,
        AttemptStatus::Exited(1),
        "cat could not write on"
    );

    // A submission now is rejected, or its task could not be started; no state is incomplete.
    let late = command(3, &["true"]);
    match engine.start(std::slice::from_ref(&late)) {
        Err(error) => {
            assert!(matches!(error, EngineError::Full { .. }), "{error}");
            assert_eq!(error.retryability(), Retryability::Later);
        }
        Ok(()) => {
            let end = wait_for_ends(&mut engine, &[late.attempt]).remove(0);
            assert!(matches!(end, AttemptEvent::Ended(_)), "{end:?}");
        }
    }

    std::fs::write(home.path().join("go"), "").expect("written elsewhere");
    let end = wait_for_ends(&mut engine, &[running.attempt]).remove(0);
    assert!(
        matches!(&end, AttemptEvent::Ended(ended) if ended.status == AttemptStatus::Exited(5)),
        "{end:?}"
    );
    drop(engine);

    // The recorded end also survives the runner.
    std::fs::remove_file(disk.join("fill")).expect("removed");
    let mut engine: LocalEngine = home.open();
    assert_eq!(
        wait_for_ends(&mut engine, &[running.attempt]).remove(0),
        end
    );
    assert_eq!(
        run(&mut engine, &command(4, &["true"])).status,
        AttemptStatus::Exited(0)
    );
}
