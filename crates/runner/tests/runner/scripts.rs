//! Tests of scripts that come with their launches: tasks run a copy of the runner's, which exists
//! for as long as it is needed.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_engine::{Engine, LaunchScript, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus};

use crate::common::{self, EngineTestDir, command, poll_until, run, wait_for_ends, wait_until};

/// Returns a launch of a script that was submitted as `./job.sh`, in a directory without such a
/// file.
fn launch(home: &EngineTestDir, job: u64, text: &str) -> LaunchSpec {
    let mut launch = command(job, &["./job.sh", "word"]);
    launch.script = Some(LaunchScript::new(text));
    launch.dir = home.path().to_owned();
    launch.output = Some(format!("output-{job}").into());
    launch
}

fn output(home: &EngineTestDir, job: u64) -> String {
    fs::read_to_string(home.path().join(format!("output-{job}"))).unwrap_or_default()
}

fn copies(home: &EngineTestDir) -> PathBuf {
    home.path().join("runner-scripts")
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

/// Returns whether the runner has neither a copy nor a text.
fn keeps_nothing(home: &EngineTestDir) -> bool {
    let texts = home.settings.state_dir.join("scripts");
    entries(&copies(home)) == 0 && entries(&texts) == 0
}

#[test]
fn script_runs_as_a_copy_with_its_arguments() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    for (job, interpreter) in [(1, "/bin/sh"), (2, "/usr/bin/env sh")] {
        let text = format!("#!{interpreter}\necho \"$0\"\necho $1; exit 7\n");
        let ended = run(&mut engine, &launch(&home, job, &text));
        assert_eq!(ended.status, AttemptStatus::Exited(7));
        let printed = output(&home, job);
        let (name, words) = printed.split_once('\n').expect("two lines");
        assert!(Path::new(name).starts_with(copies(&home)), "{name}");
        assert_eq!(words, "word\n");
    }
}

#[test]
fn script_without_an_interpreter_is_not_started() {
    let home = EngineTestDir::new();
    let ended = run(&mut home.open(), &launch(&home, 1, "echo no\n"));
    let status = ended.status.to_string();
    assert_eq!(status, "not started: program: Exec format error");
}

#[test]
fn tasks_with_the_same_script_share_a_copy_until_the_last_finishes() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let text = "#!/bin/sh\nwhile [ ! -e go-$TOLLGATE_JOB ]; do sleep 0.01; done\n";
    let launches = [1, 2, 3].map(|job| launch(&home, job, text));
    engine.start(&launches).expect("taken on");
    let started = |reports: &[tollgate_model::AttemptReport]| {
        let starts = reports.iter();
        let starts = starts.filter(|report| matches!(report.event, AttemptEvent::Started(_)));
        starts.count() == 3
    };
    poll_until(&mut engine, started);
    assert_eq!(entries(&copies(&home)), 1);
    for (job, attempt) in [1, 2, 3].into_iter().zip(launches.map(|l| l.attempt)) {
        assert!(!keeps_nothing(&home), "one that runs needs it");
        fs::write(home.path().join(format!("go-{job}")), "").expect("written");
        wait_for_ends(&mut engine, &[attempt]);
    }
    wait_until("it is removed", || keeps_nothing(&home));
}

#[test]
fn runner_killed_at_failpoints_leaves_the_script_to_the_next() {
    // The end is certain if no program had run yet.
    let sure = ["asked", "kept", "taken"];
    let unsure = ["child-copied", "child-ready", "started", "ended", "over"];
    for point in sure.into_iter().chain(unsure) {
        let home = EngineTestDir::new().with_fault(point);
        let mut engine = home.open();
        let first = engine.runner_pid();
        let launch = launch(&home, 1, "#!/bin/sh\necho once >> witness; exit 7\n");
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        let end = wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
        assert_ne!(engine.runner_pid(), first, "{point}: it was not killed");
        let witness = fs::read_to_string(home.path().join("witness")).unwrap_or_default();
        assert!(witness.lines().count() <= 1, "{point}: {witness}");
        match end {
            AttemptEvent::Ended(ended) => {
                assert_eq!(ended.status, AttemptStatus::Exited(7), "{point}")
            }
            AttemptEvent::Lost { .. } => assert!(!sure.contains(&point), "{point}: it was lost"),
            AttemptEvent::Started(_) => panic!("no end"),
        }
        wait_until("nothing is kept", || keeps_nothing(&home));
    }
}

#[test]
fn queued_script_is_run_by_the_next_runner_without_being_sent_again() {
    let mut home = EngineTestDir::new();
    home.settings.nodes = Some(1);
    home.settings.slots_per_node = 1;
    let mut engine = home.open();
    let first = launch(
        &home,
        1,
        "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.01; done\n",
    );
    let second = launch(&home, 2, "#!/bin/sh\nexit 7\n");
    engine
        .start(&[first.clone(), second.clone()])
        .expect("taken on");
    common::wait_for_start(&mut engine, first.attempt);
    let runner = engine.runner_pid().and_then(|pid| i32::try_from(pid).ok());
    let runner = runner.and_then(rustix::process::Pid::from_raw);
    let runner = runner.expect("it is connected");
    rustix::process::kill_process(runner, rustix::process::Signal::KILL).expect("killed");
    fs::write(home.path().join("go"), "").expect("written");
    let attempts: [AttemptId; 2] = [first.attempt, second.attempt];
    let ends = wait_for_ends(&mut engine, &attempts);
    let AttemptEvent::Ended(ended) = &ends[1] else {
        panic!("{ends:?}");
    };
    assert_eq!(ended.status, AttemptStatus::Exited(7));
    wait_until("nothing is kept", || keeps_nothing(&home));
}

#[test]
fn copies_that_an_earlier_runner_left_are_removed() {
    let home = EngineTestDir::new();
    fs::create_dir(copies(&home)).expect("made");
    let name = format!("{}-{}", 7, LaunchScript::new("").sha256());
    for name in [&name, "half-1.0.1"] {
        fs::write(copies(&home).join(name), "").expect("written");
    }
    let _engine = home.open();
    wait_until("they are removed", || entries(&copies(&home)) == 0);
}
