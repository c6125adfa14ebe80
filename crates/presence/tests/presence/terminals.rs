//! Tests of input at real terminals.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tollgate_host::{AccountIds, with_rights_of};
use tollgate_model::EvictionCause;
use tollgate_presence::PresenceSource;

use crate::common::ObservedMonitor;
use crate::desktop::{DesktopProcess, TestDesktop, has_program};

const USER: Option<EvictionCause> = Some(EvictionCause::User);

/// Starts `script`, which gives `command` a terminal and types there what its input holds.
fn terminal(desktop: &TestDesktop, before: &str, command: &str) -> DesktopProcess {
    let process = desktop.spawn(&format!("exec {before} script -qc '{command}' /dev/null"));
    crate::common::wait_until("there is a terminal", || n_terminals(desktop) > 0);
    process
}

fn n_terminals(desktop: &TestDesktop) -> usize {
    let files = fs::read_dir(desktop.path("dev/pts")).expect("a directory");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    names.filter(|name| name != "ptmx").count()
}

#[test]
fn input_at_a_terminal_is_use_and_output_is_none() {
    let Some(desktop) = TestDesktop::with_terminals() else {
        return;
    };
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    observed.wait_for(None);
    let command = "read line; while :; do echo output; sleep 0.05; done";
    let mut terminal = terminal(&desktop, "", command);
    // A new terminal is a person who has opened it.
    observed.wait_for(USER);
    observed.wait_for(None);
    terminal.type_text("hello\n");
    observed.wait_for(USER);
    // From now on the terminal is only written to.
    observed.wait_for(None);
    observed.assert_no_change_for(Duration::from_secs(1));
}

#[test]
fn terminal_that_is_open_at_the_start_is_watched() {
    let Some(desktop) = TestDesktop::with_terminals() else {
        return;
    };
    let mut terminal = terminal(&desktop, "", "cat");
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    observed.wait_for(None);
    terminal.type_text("x\n");
    observed.wait_for(USER);
    drop(terminal);
    observed.wait_for(None);
}

#[test]
fn terminal_of_a_task_is_no_use() {
    let Some(desktop) = TestDesktop::with_terminals() else {
        return;
    };
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    let mut terminal = terminal(&desktop, "env TOLLGATE_ATTEMPT=1.0.1", "cat");
    terminal.type_text("x\n");
    observed.assert_no_change_for(Duration::from_secs(1));
    // Nor is one that was open before.
    drop(observed);
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    terminal.type_text("x\n");
    observed.assert_no_change_for(Duration::from_secs(1));
}

#[test]
fn detached_multiplexer_is_no_use() {
    let (Some(desktop), true) = (TestDesktop::with_terminals(), has_program("/usr/bin/tmux"))
    else {
        return;
    };
    let work = "while :; do echo output; sleep 0.05; done";
    let script = format!("TMUX_TMPDIR=/run tmux -f /dev/null new-session -d '{work}'; read line");
    let _multiplexer = desktop.spawn(&script);
    crate::common::wait_until("there is a terminal", || n_terminals(&desktop) > 0);
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    observed.wait_for(None);
    observed.assert_no_change_for(Duration::from_secs(1));
}

#[test]
fn input_at_a_terminal_of_another_user_is_use() {
    let Some(desktop) = TestDesktop::with_terminals() else {
        return;
    };
    fs::set_permissions(desktop.path(""), Permissions::from_mode(0o755)).expect("set");
    let mut terminal = terminal(&desktop, "", "cat");
    let account = AccountIds {
        uid: 65_534,
        gid: 65_534,
    };
    let settings = desktop.settings(PresenceSource::Terminals);
    let observed = with_rights_of(account, || ObservedMonitor::start(&settings));
    let observed = observed.expect("it becomes that user");
    observed.wait_for(None);
    // The time of access is that of the last eight seconds.
    std::thread::spawn(move || {
        for _ in 0..600 {
            terminal.type_text("x\n");
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    observed.wait_for(USER);
}
