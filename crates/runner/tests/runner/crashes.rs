//! Tests that kill the runner, at every critical point and at random moments: no task runs twice,
//! no task is forgotten, and every report is true.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptStatus, KillReason, LimitWarning, Span, WarningSignal,
};
use tollgate_runner::LocalEngine;

use crate::common::{self, EngineTestDir, poll_until, run, script, wait_for_ends, wait_for_start};

/// Returns a task that writes a line and then ends with 7, and the file of the line.
fn witness(home: &EngineTestDir, job: u64) -> (LaunchSpec, PathBuf) {
    let file = home.path().join(format!("witness-{job}"));
    let mut launch = script(job, &format!("echo $$ >> {}; exit 7", file.display()));
    launch.output = Some(home.path().join(format!("output-{job}")));
    (launch, file)
}

fn times_run(witness: &PathBuf) -> usize {
    fs::read_to_string(witness).map_or(0, |text| text.lines().count())
}

fn kill_runner(engine: &LocalEngine) {
    let pid = engine.runner_pid().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Returns whether an attempt ended with 7; false if it was lost.
fn ended(end: &AttemptEvent) -> bool {
    match end {
        AttemptEvent::Ended(ended) => {
            assert_eq!(ended.status, AttemptStatus::Exited(7));
            true
        }
        AttemptEvent::Lost { .. } => false,
        AttemptEvent::Started(_) => panic!("no end"),
    }
}

#[test]
fn runner_killed_at_failpoints_runs_each_task_exactly_once() {
    // The end is certain if no program had run yet, or if the end was already recorded.
    let sure = ["asked", "taken", "recorded"];
    let unsure = [
        "child-begun",
        "child-created",
        "child-recorded",
        "child-ready",
        "spawned",
        "started",
        "ended",
        "over",
    ];
    for point in sure.into_iter().chain(unsure) {
        let home = EngineTestDir::new().with_fault(point);
        let (launch, file) = witness(&home, 1);
        let mut engine = home.open();
        let first = engine.runner_pid();
        // A runner that is killed during a request is replaced, and the next runner gets the
        // request.
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        assert_ne!(engine.runner_pid(), first, "{point}: it was not killed");
        let ran = times_run(&file);
        assert!(ran <= 1, "{point}: it ran {ran} times");
        if ended(&end) {
            assert_eq!(ran, 1, "{point}");
        } else {
            assert!(!sure.contains(&point), "{point}: it was lost");
        }
        engine.acknowledge(&[launch.attempt]).expect("acknowledged");
        assert_eq!(engine.running().expect("it answers"), [], "{point}");
    }
}

#[test]
fn attempt_with_the_file_of_an_earlier_one_runs_at_most_once() {
    for point in ["child-recorded", "child-ready", "spawned", "ended"] {
        let mut home = EngineTestDir::new();
        let (earlier, _) = witness(&home, 1);
        let mut engine = home.open();
        run(&mut engine, &earlier);
        engine
            .acknowledge(&[earlier.attempt])
            .expect("acknowledged");
        drop(engine);
        common::wait_until("the runner has ended", || {
            !home.settings.state_dir.join("socket").exists()
        });
        let spares = home.settings.state_dir.join("spares");
        let n_spares = || fs::read_dir(&spares).expect("a folder").count();
        assert_eq!(n_spares(), 1, "{point}");
        home = home.with_fault(point);
        let (launch, file) = witness(&home, 2);
        let mut engine = home.open();
        let first = engine.runner_pid();
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        assert_ne!(engine.runner_pid(), first, "{point}: it was not killed");
        assert_eq!(n_spares(), 0, "{point}: the file was not used");
        let ran = times_run(&file);
        assert!(ran <= 1, "{point}: it ran {ran} times");
        assert!(!ended(&end) || ran == 1, "{point}");
    }
}

#[test]
fn runner_killed_during_acknowledge_reports_nothing_again() {
    let home = EngineTestDir::new().with_fault("forgotten");
    let (launch, _) = witness(&home, 1);
    let mut engine = home.open();
    let first = engine.runner_pid();
    run(&mut engine, &launch);
    engine
        .acknowledge(&[launch.attempt])
        .expect("the next runner is asked");
    assert_ne!(engine.runner_pid(), first, "it was not killed");
    drop(engine);
    let mut engine = home.open();
    assert_eq!(
        engine.poll(Duration::from_millis(100)).expect("it answers"),
        []
    );
    let left = fs::read_dir(home.settings.state_dir.join("attempts")).expect("a folder");
    assert_eq!(left.count(), 0, "the `started` file is gone too");
}

#[test]
fn runner_that_cannot_start_reports_the_reason() {
    let home = EngineTestDir::new();
    drop(home.open());
    let journal = home.settings.state_dir.join("journal");
    common::wait_until("it has ended", || {
        !home.settings.state_dir.join("socket").exists()
    });
    let newer = "{\"version\":99}";
    let line = format!("{:08x} {newer}\n", crc32fast::hash(newer.as_bytes()));
    fs::write(&journal, line).expect("written");
    let opened = LocalEngine::open(home.settings.clone());
    let message = opened.err().expect("it is refused").to_string();
    let expected = "journal: it is of version 99, and this program reads 1";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn child_stuck_in_setup_is_killed() {
    let mut home = EngineTestDir::new().with_fault("child-stopped");
    home.settings.setup_timeout = Duration::from_millis(100);
    let (launch, file) = witness(&home, 1);
    let ended = run(&mut home.open(), &launch);
    let status = ended.status.to_string();
    assert_eq!(
        status,
        "not started: user: it was killed while it was set up"
    );
    assert_eq!(times_run(&file), 0);
}

#[test]
fn task_outlives_its_runner_and_its_end_is_reported() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let mut launch = script(1, "while [ ! -e go ]; do sleep 0.01; done; exit 7");
        launch.dir = home.path().to_owned();
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let pid = wait_for_start(&mut engine, launch.attempt);
        kill_runner(&engine);
        drop(engine);

        let mut engine = home.open();
        assert_eq!(
            wait_for_start(&mut engine, launch.attempt),
            pid,
            "the same process"
        );
        engine
            .set_shares(&[(launch.attempt, 0.5)])
            .expect("it is still ours");
        fs::write(home.path().join("go"), "").expect("written");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        let knows_exits = kernel_is_at_least(6, 15);
        assert_eq!(ended(&end), knows_exits, "{end:?}");
    }
}

#[test]
fn signal_before_the_time_limit_is_not_sent_again_by_the_next_runner() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let text = "trap 'echo $$ >> warned' USR1; while [ ! -e go ]; do sleep 0.01; done; exit 7";
        let mut launch = script(1, text);
        launch.dir = home.path().to_owned();
        launch.limits.wall = Some(Span::from_secs(600));
        launch.limits.warning = Some(LimitWarning {
            signal: WarningSignal::Usr1,
            before: Span::from_secs(598),
        });
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let pid = wait_for_start(&mut engine, launch.attempt);
        let warned = home.path().join("warned");
        common::wait_until("it is warned", || times_run(&warned) == 1);
        kill_runner(&engine);
        drop(engine);

        let mut engine = home.open();
        assert_eq!(wait_for_start(&mut engine, launch.attempt), pid);
        // The answer comes after the timers that were due at the start.
        engine
            .set_shares(&[(launch.attempt, 0.5)])
            .expect("it is still ours");
        fs::write(home.path().join("go"), "").expect("written");
        wait_for_ends(&mut engine, &[launch.attempt]);
        assert_eq!(times_run(&warned), 1);
    }
}

#[test]
fn task_of_an_earlier_runner_can_be_killed() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let launch = script(1, "trap '' TERM; while :; do sleep 1; done");
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let pid = wait_for_start(&mut engine, launch.attempt);
        kill_runner(&engine);
        let why = tollgate_model::KillReason::Cancelled;
        engine
            .kill(&[launch.attempt], why)
            .expect("the next runner is asked");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        if let AttemptEvent::Ended(ended) = end {
            assert_eq!(ended.status, AttemptStatus::Signalled(9));
            assert_eq!(ended.killed, Some(why));
        }
        let path = format!("/proc/{pid}/environ");
        common::wait_until("it is gone", || {
            fs::read(&path).unwrap_or_default().is_empty()
        });
    }
}

#[test]
fn recovery_spares_equally_named_attempts_of_another_runner() {
    let homes = [
        EngineTestDir::without_control_groups(),
        EngineTestDir::without_control_groups(),
    ];
    let mut engines = homes.each_ref().map(EngineTestDir::open);
    let launch = script(1, "exec sleep 60");
    let pids = engines.each_mut().map(|engine| {
        engine.start(std::slice::from_ref(&launch)).expect("taken");
        wait_for_start(engine, launch.attempt)
    });
    let [crashed, other] = &mut engines;
    kill_runner(crashed);
    common::signal(pids[0], rustix::process::Signal::KILL);
    common::wait_until("the task is gone", || !common::is_alive(pids[0]));
    let end = wait_for_ends(crashed, &[launch.attempt]).remove(0);
    assert!(matches!(end, AttemptEvent::Lost { .. }), "{end:?}");
    assert!(common::is_alive(pids[1]), "the other runner's task is gone");
    other
        .kill(&[launch.attempt], tollgate_model::KillReason::Cancelled)
        .expect("it is asked");
    wait_for_ends(other, &[launch.attempt]);
}

#[test]
fn task_that_ends_without_a_runner_is_lost() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let mut launch = script(1, "while [ ! -e go ]; do sleep 0.01; done");
    launch.dir = home.path().to_owned();
    engine
        .start(std::slice::from_ref(&launch))
        .expect("taken on");
    let pid = wait_for_start(&mut engine, launch.attempt);
    kill_runner(&engine);
    drop(engine);
    fs::write(home.path().join("go"), "").expect("written");
    let environ = format!("/proc/{pid}/environ");
    common::wait_until("it has ended", || {
        fs::read(&environ).unwrap_or_default().is_empty()
    });
    let mut engine = home.open();
    let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
    assert!(matches!(end, AttemptEvent::Lost { .. }), "{end:?}");
    // The attempt is not started again either.
    engine
        .start(std::slice::from_ref(&launch))
        .expect("it is known");
    assert_eq!(engine.running().expect("it answers"), []);
}

#[test]
fn runner_killed_under_load_runs_each_task_exactly_once() {
    const TASKS: u64 = 400;
    const KILLS: u64 = 25;
    let home = EngineTestDir::new();
    let (launches, witnesses): (Vec<LaunchSpec>, Vec<PathBuf>) =
        (1..=TASKS).map(|job| witness(&home, job)).unzip();
    let attempts: Vec<AttemptId> = launches.iter().map(|launch| launch.attempt).collect();
    let mut engine = home.open();
    engine.start(&launches).expect("taken on");
    let mut reports = Vec::new();
    for kill in 0..KILLS {
        // The moments are uneven, and the same in each run.
        let moment = Duration::from_micros(500 + kill * 7_919 % 20_000);
        reports.extend(engine.poll(moment).unwrap_or_default());
        std::thread::sleep(moment);
        kill_runner(&engine);
    }
    drop(engine);
    let mut engine = home.open();
    let ends = wait_for_ends(&mut engine, &attempts);
    let lost = ends.iter().filter(|end| !ended(end)).count();
    let runs: Vec<usize> = witnesses.iter().map(times_run).collect();
    assert!(runs.iter().all(|runs| *runs <= 1), "some ran twice");
    for (end, runs) in ends.iter().zip(&runs) {
        assert!(!ended(end) || *runs == 1, "ended without having run");
    }
    // Each kill loses at most the attempts that were running.
    let slots = 8 * engine.capacity().expect("known").nodes as usize;
    assert!(lost <= KILLS as usize * slots, "{lost} lost");
    engine.acknowledge(&attempts).expect("acknowledged");
    drop(engine);
    let mut engine = home.open();
    let acknowledged = poll_until(&mut engine, |_| true);
    assert_eq!(acknowledged, []);
}

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("there is /proc");
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|word| word.trim().parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

#[test]
fn output_is_limited_by_the_next_runner_as_by_the_one_that_was_killed() {
    let home = EngineTestDir::new();
    let held = home.path().join("held");
    fs::write(&held, vec![0; 3 << 20]).expect("written");
    let go = home.path().join("go");
    let task = |job, output: &str, append, program: &str| {
        let wait = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
        let mut launch = script(job, &format!("{wait}; {program}"));
        launch.dir = home.path().to_owned();
        launch.output = Some(output.into());
        launch.append = append;
        launch.limits.output = Some(1 << 20);
        launch
    };
    let long = "head -c 2000000 /dev/zero; sleep 600";
    let elsewhere = "exec > other; head -c 2000000 /dev/zero; sleep 2; exit 7";
    let launches = [
        task(1, "long", false, long),
        task(2, "held", true, long),
        // Neither what the file held before nor what goes to another file counts.
        task(3, "held-too", true, "echo more; sleep 2; exit 7"),
        task(4, "short", false, elsewhere),
    ];
    fs::copy(&held, home.path().join("held-too")).expect("copied");
    let mut engine = home.open();
    engine.start(&launches).expect("taken on");
    poll_until(&mut engine, |reports| reports.len() == launches.len());
    kill_runner(&engine);
    fs::write(&go, "").expect("written");
    let attempts = launches.map(|launch| launch.attempt);
    let ends = wait_for_ends(&mut engine, &attempts);
    for (number, end) in (1..).zip(ends) {
        let AttemptEvent::Ended(outcome) = end else {
            panic!("task {number}: {end:?}");
        };
        let expected = (number <= 2).then_some(KillReason::OutputLimit);
        assert_eq!(outcome.killed, expected, "task {number}: {outcome:?}");
    }
}
