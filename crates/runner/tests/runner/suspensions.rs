//! Tests of suspended tasks with real processes: by the freezer of version 2, by that of version 1, and by signals.
//! Beside each task two processes want all processors.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tollgate_engine::{BootTime, Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptStatus, EvictionCause, KillReason, Span};
use tollgate_needs::{Need, lacks};
use tollgate_runner::LocalEngine;

use crate::common::{
    EngineTestDir, is_alive, script, signal, wait_for_ends, wait_for_start, wait_until,
};

/// Processes outside the runner that want all processor time, ended with the test.
struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    fn start() -> Self {
        let one = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            command.spawn().expect("it starts")
        };
        Self((0..2).map(one).collect())
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns directories whose runners suspend by each of the three means.
fn homes() -> impl Iterator<Item = EngineTestDir> {
    let homes = [
        Some(EngineTestDir::without_control_groups()),
        Some(EngineTestDir::with_low_priority()),
        EngineTestDir::with_low_priority_v1(),
    ];
    homes.into_iter().flatten()
}

/// The files to which [`growing`] writes.
const FILES: [&str; 3] = ["child", "session", "pipe"];

/// Returns a task with a child, a child in a session of its own, and a pipe, each of which writes to a file.
fn growing(home: &EngineTestDir) -> LaunchSpec {
    let text = "grow() { while :; do echo x >> $1; done; }
        grow child & setsid sh -c 'while :; do echo x >> session; done' &
        while :; do echo x; done | while read line; do echo $line >> pipe; done";
    let mut launch = script(1, text);
    launch.dir = home.path().to_owned();
    launch
}

fn sizes(home: &EngineTestDir) -> [u64; 3] {
    FILES.map(|file| fs::metadata(home.path().join(file)).map_or(0, |file| file.len()))
}

fn start(home: &EngineTestDir, engine: &mut LocalEngine, launch: &LaunchSpec) -> u32 {
    engine
        .start(std::slice::from_ref(launch))
        .expect("taken on");
    let pid = wait_for_start(engine, launch.attempt);
    wait_until_growing(home);
    pid
}

#[track_caller]
fn wait_until_growing(home: &EngineTestDir) {
    let before = sizes(home);
    wait_until("all processes work", || {
        let grown = sizes(home).into_iter().zip(before);
        grown.into_iter().all(|(now, before)| now > before)
    });
}

#[track_caller]
fn assert_stands_still(home: &EngineTestDir) {
    let before = sizes(home);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(sizes(home), before, "a process works");
}

fn kill_runner(engine: &LocalEngine) {
    let runner = engine.runner_pid().expect("a runner");
    signal(runner, Signal::KILL);
    wait_until("the runner is gone", || !is_alive(runner));
}

/// Returns the control group of a process in the hierarchy whose line of `/proc/PID/cgroup` has this controller.
fn cgroup_of(pid: u32, controller: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it runs");
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut groups =
        lines.find_map(|(_, rest)| rest.split_once(':').filter(|it| it.0 == controller));
    groups
        .take()
        .map_or(String::new(), |(_, group)| group.to_owned())
}

#[test]
fn task_has_a_freezer_of_its_own() {
    if !tollgate_needs::root() {
        return;
    }
    let v1 = EngineTestDir::with_low_priority_v1().map(|home| (home, "freezer"));
    let v2 = Some((EngineTestDir::with_low_priority(), ""));
    for (home, controller) in [v1, v2].into_iter().flatten() {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        let group = cgroup_of(pid, controller);
        assert!(group.contains("/tollgate-runner-"), "{controller}: {group}");
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn no_thread_of_the_runner_has_the_low_priority_of_a_task() {
    if !tollgate_needs::root() {
        return;
    }
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        let runner = engine.runner_pid().expect("a runner");
        let threads = fs::read_dir(format!("/proc/{runner}/task")).expect("it runs");
        let names = threads.map(|thread| thread.expect("an entry").file_name());
        let threads: Vec<u32> = names
            .map(|name| name.to_str().expect("text").parse().expect("a number"))
            .collect();
        assert!(threads.len() > 1, "one serves the slot");
        // A thread that starves keeps its locks, and those of a killed runner would outlive it.
        let task = ["cpu", ""].map(|controller| cgroup_of(pid, controller));
        for thread in threads {
            let own = ["cpu", ""].map(|controller| cgroup_of(thread, controller));
            let is_below = own.iter().any(|group| group.contains("/tollgate-runner-"));
            assert!(!is_below, "{own:?}, its task {task:?}");
        }
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn all_tasks_together_are_idle_until_one_has_to_end() {
    let home = EngineTestDir::with_low_priority();
    let mut engine = home.open();
    let mut launch = growing(&home);
    let text = launch.argv[2].to_str().expect("text");
    launch.argv[2] = format!("trap '' TERM; {text}").into();
    let pid = start(&home, &mut engine, &launch);
    let group = cgroup_of(pid, "cpu");
    let parent = group.trim_start_matches('/').rsplit_once('/');
    let parent = parent.map_or(String::new(), |(parent, _)| parent.to_owned());
    let file = format!("/sys/fs/cgroup/cpu/{parent}/cpu.idle");
    if !parent.contains("tollgate-runner-") || !fs::exists(&file).expect("known") {
        lacks(Need::CgroupsV1, "no groups of version 1 that can be idle");
        return;
    }
    let is_idle = || fs::read_to_string(&file).expect("read") == "1\n";
    assert!(is_idle());
    engine.suspend(&[launch.attempt]).expect("suspended");
    assert!(is_idle(), "the weight is that of before");
    engine
        .kill(&[launch.attempt], KillReason::Evicted)
        .expect("killed");
    assert!(!is_idle(), "it needs processor time to end");
    wait_for_ends(&mut engine, &[launch.attempt]);
    engine.running().expect("it answers");
    assert!(is_idle());
    let mut probe = script(2, "while [ ! -e go ]; do sleep 0.02; done");
    probe.dir = home.path().to_owned();
    probe.is_probe = true;
    engine.start(&[probe.clone()]).expect("started");
    wait_for_start(&mut engine, probe.attempt);
    assert!(!is_idle(), "its end is waited for");
    fs::write(home.path().join("go"), "").expect("written");
    wait_for_ends(&mut engine, &[probe.attempt]);
    engine.running().expect("it answers");
    assert!(is_idle());
}

#[test]
fn every_process_of_a_suspended_task_stands_still_until_it_is_resumed() {
    let _busy = BusyProcesses::start();
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        start(&home, &mut engine, &launch);
        for _ in 0..3 {
            engine.suspend(&[launch.attempt]).expect("suspended");
            assert_stands_still(&home);
            engine.resume(&[launch.attempt]).expect("resumed");
            wait_until_growing(&home);
        }
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn suspended_task_that_ignores_sigterm_ends_with_all_its_processes() {
    let _busy = BusyProcesses::start();
    for home in homes() {
        let mut engine = home.open();
        let mut launch = growing(&home);
        let text = launch.argv[2].to_str().expect("text");
        launch.argv[2] = format!("trap '' TERM; {text}").into();
        start(&home, &mut engine, &launch);
        engine.suspend(&[launch.attempt]).expect("suspended");
        engine
            .kill(&[launch.attempt], KillReason::Evicted)
            .expect("killed");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        let AttemptEvent::Ended(end) = end else {
            panic!("{end:?}");
        };
        assert_eq!(end.status, AttemptStatus::Signalled(9));
        assert_eq!(end.killed, Some(KillReason::Evicted));
        assert!(end.suspended > Span::ZERO && end.suspended < end.wall);
        assert_stands_still(&home);
    }
}

#[test]
fn task_that_gives_way_has_a_grace_period_of_its_own() {
    let mut home = EngineTestDir::with_low_priority();
    home.settings.grace = Duration::from_millis(1);
    home.settings.evict_grace = Some(Duration::from_secs(50));
    let mut engine = home.open();
    let mut end = |job, why| {
        let text = "trap 'sleep 0.5; exit 3' TERM; echo > trapped; while :; do sleep 0.02; done";
        let mut launch = script(job, text);
        launch.dir = home.path().to_owned();
        engine.start(&[launch.clone()]).expect("started");
        wait_until("it has its trap", || home.path().join("trapped").exists());
        fs::remove_file(home.path().join("trapped")).expect("removed");
        engine.suspend(&[launch.attempt]).expect("suspended");
        engine.kill(&[launch.attempt], why).expect("asked to end");
        let mut ends = wait_for_ends(&mut engine, &[launch.attempt]);
        ends.pop()
    };
    for (job, why, status) in [
        (1, KillReason::Cancelled, AttemptStatus::Signalled(9)),
        (
            2,
            KillReason::GaveWay(EvictionCause::User),
            AttemptStatus::Exited(3),
        ),
    ] {
        let end = end(job, why);
        let Some(AttemptEvent::Ended(end)) = end else {
            panic!("{end:?}");
        };
        assert_eq!((end.status, end.killed), (status, Some(why)));
    }
}

#[test]
fn attempt_that_is_suspended_before_its_start_is_frozen_at_its_start() {
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        engine.suspend(&[launch.attempt]).expect("suspended");
        wait_for_start(&mut engine, launch.attempt);
        // The start is reported a moment before the processes are frozen.
        let running = engine.running().expect("it answers");
        assert!(running[0].is_suspended);
        assert_stands_still(&home);
        engine.resume(&[launch.attempt]).expect("resumed");
        wait_until_growing(&home);
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn next_runner_keeps_a_task_suspended_and_can_resume_and_end_it() {
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        engine.suspend(&[launch.attempt]).expect("suspended");
        kill_runner(&engine);
        drop(engine);

        let mut engine = home.open();
        assert_eq!(wait_for_start(&mut engine, launch.attempt), pid);
        let running = engine.running().expect("it answers");
        assert!(running[0].is_suspended);
        assert_stands_still(&home);
        engine.resume(&[launch.attempt]).expect("resumed");
        wait_until_growing(&home);
        engine.suspend(&[launch.attempt]).expect("suspended");
        kill_runner(&engine);
        drop(engine);

        let mut engine = home.open();
        wait_for_start(&mut engine, launch.attempt);
        engine
            .kill(&[launch.attempt], KillReason::Evicted)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
        assert!(!is_alive(pid));
        assert_stands_still(&home);
    }
}

#[test]
fn task_is_in_the_latest_requested_state_however_often_its_runner_is_killed() {
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        // Each pair of states, with and without a kill of the runner between them.
        let states = [true, true, false, false, true, false, true, true, false];
        for (step, is_suspended) in states.into_iter().enumerate() {
            let attempts = [launch.attempt];
            match is_suspended {
                true => drop(engine.suspend(&attempts).expect("suspended")),
                false => engine.resume(&attempts).expect("resumed"),
            }
            if step % 2 == 1 {
                kill_runner(&engine);
                drop(engine);
                engine = home.open();
                assert_eq!(wait_for_start(&mut engine, launch.attempt), pid);
            }
            let running = engine.running().expect("it answers");
            assert_eq!(running[0].is_suspended, is_suspended, "step {step}");
            match is_suspended {
                true => assert_stands_still(&home),
                false => wait_until_growing(&home),
            }
        }
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn suspended_task_of_a_killed_runner_ends_with_its_lease() {
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        engine.suspend(&[launch.attempt]).expect("suspended");
        engine
            .renew_lease(BootTime::now() + Duration::from_millis(500))
            .expect("renewed");
        kill_runner(&engine);
        drop(engine);
        wait_until("the task is gone", || !is_alive(pid));
        assert_stands_still(&home);
    }
}

#[test]
fn next_task_of_a_slot_is_not_suspended_with_the_one_before() {
    for home in homes() {
        let mut engine = home.open();
        let launch = growing(&home);
        start(&home, &mut engine, &launch);
        let mut next = script(2, "exit 7");
        next.after = Some(launch.attempt);
        engine.start(std::slice::from_ref(&next)).expect("taken on");
        engine.suspend(&[launch.attempt]).expect("suspended");
        engine
            .kill(&[launch.attempt], KillReason::Evicted)
            .expect("killed");
        let ends = wait_for_ends(&mut engine, &[launch.attempt, next.attempt]);
        let AttemptEvent::Ended(end) = &ends[1] else {
            panic!("{ends:?}");
        };
        assert_eq!(end.status, AttemptStatus::Exited(7));
        assert_eq!(end.suspended, Span::ZERO);
    }
}

#[test]
fn runner_beside_users_has_a_raised_priority_that_no_task_inherits() {
    if !tollgate_needs::root() {
        return;
    }
    let level = |pid: u32| {
        let pid = Pid::from_raw(i32::try_from(pid).expect("a number"));
        rustix::process::getpriority_process(pid).expect("it runs")
    };
    for home in homes().filter(|home| home.settings.low_priority) {
        let mut engine = home.open();
        let launch = growing(&home);
        let pid = start(&home, &mut engine, &launch);
        let runner = engine.runner_pid().expect("a runner");
        assert_eq!((level(runner), level(pid)), (-10, 19));
        engine
            .kill(&[launch.attempt], KillReason::Cancelled)
            .expect("killed");
        wait_for_ends(&mut engine, &[launch.attempt]);
    }
}

#[test]
fn task_of_low_priority_has_the_lowest_of_all() {
    let mut home = EngineTestDir::with_low_priority();
    home.settings.nodes = Some(1);
    let mut engine = home.open();
    let text = "cat /proc/self/oom_score_adj > score; nice > level; ionice > class";
    let mut priority = |job, is_probe| {
        let mut launch = script(job, text);
        launch.dir = home.path().to_owned();
        launch.is_probe = is_probe;
        let end = crate::common::run(&mut engine, &launch);
        assert_eq!(end.status, AttemptStatus::Exited(0));
        ["score", "level", "class"].map(|file| {
            let text = fs::read_to_string(home.path().join(file)).expect("written");
            text.trim_end().to_owned()
        })
    };
    let lowest = ["800", "19", "idle"];
    assert_eq!(priority(1, false), lowest);
    for (own, lowest) in priority(2, true).iter().zip(lowest) {
        assert_ne!(own, lowest);
    }
}
