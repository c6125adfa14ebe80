//! Tests of the files of standard input, output and error.

use std::fs;
use std::os::unix::fs::symlink;

use tollgate_engine::LaunchSpec;
use tollgate_model::{AttemptStatus, KillReason};

use crate::common::{EngineTestDir, run, script};

/// Returns a launch in the directory whose output is the file `out`.
fn launch(home: &EngineTestDir, job: u64, text: &str) -> LaunchSpec {
    let mut launch = script(job, text);
    launch.dir = home.path().to_owned();
    launch.output = Some("out".into());
    launch
}

fn read(home: &EngineTestDir, name: &str) -> String {
    fs::read_to_string(home.path().join(name)).expect("a file")
}

#[test]
fn errors_have_a_file_of_their_own_in_a_directory_that_is_made() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let text = "echo out; echo err >&2";
    let mut launch = launch(&home, 1, text);
    launch.error = Some("errors/err".into());
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    assert_eq!(read(&home, "out"), "out\n");
    assert_eq!(read(&home, "errors/err"), "err\n");
    launch.attempt.job = 2;
    launch.append = true;
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    assert_eq!(read(&home, "errors/err"), "err\nerr\n");
    launch.attempt.job = 3;
    launch.append = false;
    launch.output = None;
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    assert_eq!(read(&home, "out"), "out\nout\n", "as before");
    assert_eq!(read(&home, "errors/err"), "err\n");
}

#[test]
fn errors_in_the_file_of_the_output_overwrite_nothing() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let mut launch = launch(&home, 1, "echo out; echo err >&2; echo more");
    launch.error = Some("./out".into());
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    assert_eq!(read(&home, "out"), "out\nerr\nmore\n");
}

#[test]
fn input_is_read_from_a_file_and_is_empty_without_one() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    fs::write(home.path().join("in"), "some words\n").expect("written");
    symlink("in", home.path().join("link")).expect("a link");
    for (job, input, expected) in [
        (1, None, ""),
        (2, Some("in"), "some words\n"),
        (3, Some("link"), "some words\n"),
    ] {
        let mut launch = launch(&home, job, "cat");
        launch.input = input.map(Into::into);
        assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
        assert_eq!(read(&home, "out"), expected, "{input:?}");
    }
}

#[test]
fn file_that_cannot_be_opened_is_named_with_its_step() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    symlink("elsewhere", home.path().join("link")).expect("a link");
    let mut reason = |job, change: fn(&mut LaunchSpec)| {
        let mut launch = launch(&home, job, "true");
        change(&mut launch);
        run(&mut engine, &launch).status.to_string()
    };
    for (status, expected) in [
        (
            reason(1, |launch| launch.input = Some("missing".into())),
            "not started: input: No such file or directory",
        ),
        (
            reason(2, |launch| launch.input = Some(".".into())),
            "not started: input: Is a directory",
        ),
        (
            reason(3, |launch| launch.error = Some("link".into())),
            "not started: error: it is a symbolic link",
        ),
        (
            reason(4, |launch| launch.error = Some("/no/such/err".into())),
            "not started: error: No such file or directory",
        ),
    ] {
        assert_eq!(status, expected);
    }
}

#[test]
fn task_is_ended_for_excess_errors() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let text = "while :; do head -c 100000 /dev/zero >&2; done";
    let mut launch = launch(&home, 1, text);
    launch.error = Some("err".into());
    launch.limits.output = Some(1 << 20);
    let ended = run(&mut engine, &launch);
    assert_eq!(ended.killed, Some(KillReason::OutputLimit));
    assert_eq!(read(&home, "out"), "");
}
