//! Tests of a command of the site as a source.

use std::fs;
use std::path::Path;

use tollgate_model::EvictionCause;
use tollgate_presence::{PresenceError, PresenceMonitor, PresenceSettings, PresenceSource};

use crate::common::{ObservedMonitor, settings};

fn with_command(command: &str) -> PresenceSettings {
    PresenceSettings {
        command: Some(command.to_owned()),
        ..settings(PresenceSource::Command)
    }
}

/// Returns the settings of a command that writes the lines of a named pipe.
fn from_pipe(pipe: &Path) -> PresenceSettings {
    let command = format!("exec cat {}", pipe.display());
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.expect("it runs").success());
    with_command(&command)
}

#[test]
fn lines_of_a_command_count_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let pipe = dir.path().join("pipe");
    let observed = ObservedMonitor::start(&from_pipe(&pipe));
    observed.wait_for(Some(EvictionCause::User));
    let mut lines = fs::File::options().write(true).open(&pipe).expect("opened");
    for (line, cause) in [
        ("free", None),
        ("in-use load", Some(EvictionCause::Load)),
        ("free", None),
        ("in-use lecture", Some(EvictionCause::User)),
    ] {
        std::io::Write::write_all(&mut lines, format!("{line}\n").as_bytes()).expect("written");
        observed.wait_for(cause);
    }
    assert_eq!(observed.monitor.sources()[0].problem, None);
}

#[test]
fn computer_is_in_use_while_the_command_does_not_run() {
    let observed = ObservedMonitor::start(&with_command("echo free; sleep 0.2"));
    observed.wait_for(None);
    let presence = observed.wait_for(Some(EvictionCause::User));
    assert!(presence.starts_tasks);
}

#[test]
fn monitor_without_a_source_that_notices_people_is_refused() {
    for source in [PresenceSource::Command, PresenceSource::Power] {
        let refused = PresenceMonitor::start(&settings(source), Box::new(|_| {}));
        assert!(matches!(refused, Err(PresenceError::NoSource { .. })));
    }
}

#[test]
fn command_ends_with_its_monitor() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("pid");
    let command = format!("echo $$ > {}; echo free; sleep 600; true", file.display());
    let observed = ObservedMonitor::start(&with_command(&command));
    observed.wait_for(None);
    let pid = fs::read_to_string(&file).expect("written");
    drop(observed);
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}
