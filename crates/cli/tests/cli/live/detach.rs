//! Tests of a service that outlives the terminal in which it was started.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getsid, kill_process, test_kill_process};

fn tollgate(data: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .env("TOLLGATE_DATA", data)
        .args(words)
        .output()
        .unwrap()
}

/// Returns the process that a note names.
fn process(notes: &str) -> Pid {
    let after = notes.split("process ").nth(1).expect(notes);
    let number = after.split(',').next().and_then(|pid| pid.parse().ok());
    Pid::from_raw(number.expect(notes)).unwrap()
}

#[test]
fn detached_service_answers_when_the_command_returns() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let started = tollgate(&data, &["serve", "--detach", "--policy", "fcfs"]);
    let notes = String::from_utf8(started.stderr).unwrap();
    assert!(started.status.success(), "{notes}");
    assert!(notes.contains("the service answers policy=fcfs"), "{notes}");
    let service = process(&notes);
    assert_eq!(getsid(Some(service)), Ok(service), "a session of its own");
    assert!(tollgate(&data, &["status"]).status.success());

    let second = tollgate(&data, &["serve", "--detach"]);
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("another service uses"), "{stderr}");
    assert!(
        !stderr.contains("policy=fcfs"),
        "only what it said itself: {stderr}"
    );

    kill_process(service, Signal::TERM).unwrap();
    let log = fs::read_to_string(data.join("service.log")).unwrap();
    assert!(log.contains("the service answers"), "{log}");
}

#[test]
fn service_of_a_replaced_directory_leaves_the_socket_of_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let start = || {
        let started = tollgate(&data, &["serve", "--detach", "--policy", "fcfs"]);
        process(&String::from_utf8(started.stderr).unwrap())
    };
    let first = start();
    fs::remove_dir_all(&data).unwrap();
    let second = start();
    let _ = kill_process(first, Signal::TERM);
    while test_kill_process(first).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    let status = tollgate(&data, &["status"]);
    assert!(status.status.success(), "{status:?}");
    // Its runner is reached as well.
    let ran = tollgate(&data, &["submit", "--output", "none", "--", "true"]);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(tollgate(&data, &["wait", "1"]).status.code(), Some(0));
    kill_process(second, Signal::TERM).unwrap();
}
