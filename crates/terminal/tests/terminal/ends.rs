//! Ends of commands and holders.

use std::fs;

use rustix::process::{Pid, Signal, test_kill_process};

use crate::common::{HeldCommand, wait_until};

#[test]
fn clients_get_the_rest_and_the_exit_code() {
    let mut held = HeldCommand::start("read line; seq 20000; echo end; exit 7");
    let mut users = [held.attach("attach", 80, 24), held.attach("read", 80, 24)];
    users[0].type_keys("\r");
    users[0].expect("\r\n20000\r\nend");
    users[0].expect("Ended(7)");
    users[1].expect("end\r\n");
    users[1].expect("Ended(7)");
    assert_eq!(users[0].wait().code(), Some(7));
    assert_eq!(held.wait().code(), Some(7));
    assert!(!held.socket().exists());
}

#[test]
fn signal_of_a_command_is_its_exit_code() {
    let mut held = HeldCommand::start("kill -KILL $$");
    assert_eq!(held.wait().code(), Some(128 + 9));
}

#[test]
fn command_that_cannot_be_started_is_reported() {
    let mut held = HeldCommand::start("read line; exec /does/not/exist");
    let mut user = held.attach("attach", 80, 24);
    user.type_keys("\r");
    user.expect("not found");
    assert_eq!(held.wait().code(), Some(127));
}

#[test]
fn command_is_hung_up_with_its_holder() {
    let mut held = HeldCommand::start(
        "trap 'echo gone > hup; exit 5' HUP; echo begun; while :; do sleep 0.1; done",
    );
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    held.signal(Signal::TERM);
    user.expect("Ended(5)");
    assert_eq!(held.wait().code(), Some(5));
    assert_eq!(fs::read_to_string(held.file("hup")).unwrap(), "gone\n");
    assert!(!held.socket().exists());
}

#[test]
fn whole_session_is_killed_at_the_second_signal() {
    let mut held = HeldCommand::start(
        "trap '' HUP; sh -c 'sleep 1000 & echo $! > pid; wait' & echo begun; while :; do sleep 1000; done",
    );
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    let pid = wait_until("the process in the background", || {
        let text = fs::read_to_string(held.file("pid")).ok()?;
        text.trim().parse().ok().and_then(Pid::from_raw)
    });
    held.signal(Signal::TERM);
    held.signal(Signal::HUP);
    user.expect("Ended(137)");
    assert_eq!(held.wait().code(), Some(137));
    wait_until("nothing is left", || test_kill_process(pid).err());
}

#[test]
fn command_ends_with_a_killed_holder() {
    let mut held = HeldCommand::start("echo $$ > pid; echo begun; while read line; do :; done");
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    let pid = fs::read_to_string(held.file("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    held.holder.kill().unwrap();
    held.holder.wait().unwrap();
    user.expect("Lost");
    wait_until("the command has ended", || test_kill_process(pid).err());
    assert!(held.socket().exists(), "a killed holder cannot remove it");
}

#[test]
fn socket_that_a_killed_holder_left_is_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let hold = || {
        std::process::Command::new(crate::common::PROGRAM)
            .arg("hold")
            .arg(&socket)
            .args(["sh", "-c", "exit 4"])
            .output()
            .unwrap()
    };
    assert_eq!(hold().status.code(), Some(4));
    let _other = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = hold();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("in use"));
}
