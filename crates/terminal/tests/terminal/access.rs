//! Clients that see, clients that type, and clients that are detached.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use crate::common::{HeldCommand, PROGRAM, wait_for_end};

/// A command that answers each line.
const ANSWER: &str = "echo begun; while read line; do echo \"got <$line>\"; done";

#[test]
fn readers_see_the_input_of_the_writer_and_type_nothing() {
    let held = HeldCommand::start(ANSWER);
    let mut writer = held.attach("attach", 80, 24);
    let mut readers = [held.attach("read", 80, 24), held.attach("read", 80, 24)];
    for user in &mut readers {
        user.expect("begun");
        user.type_keys("ignored\r");
    }
    writer.expect("begun");
    writer.type_keys("one\r");
    writer.expect("got <one>");
    for user in &mut readers {
        user.expect("got <one>");
    }
    writer.type_keys("two\r");
    writer.expect("got <two>");
    assert!(!writer.shown.contains("ignored"));
}

#[test]
fn second_writer_is_refused_unless_it_takes_over() {
    let held = HeldCommand::start(ANSWER);
    let mut first = held.attach("attach", 80, 24);
    first.expect("begun");
    let mut second = held.attach("attach", 80, 24);
    second.expect("another terminal is attached since ");
    assert_eq!(second.wait().code(), Some(1));
    let mut third = held.attach("take", 80, 24);
    first.expect("Detached(TakenOver)");
    assert!(first.wait().success());
    third.type_keys("mine\r");
    third.expect("got <mine>");
}

#[test]
fn key_detaches_and_the_command_goes_on() {
    let held = HeldCommand::start(ANSWER);
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    user.type_keys("before\x1d");
    user.type_keys("d");
    user.expect("Detached(Own)");
    user.wait();
    let mut again = held.attach("attach", 80, 24);
    again.expect("before");
    again.type_keys(" and after\r");
    again.expect("got <before and after>");
}

#[test]
fn every_client_is_detached_at_once() {
    let held = HeldCommand::start(ANSWER);
    let mut users = [held.attach("attach", 80, 24), held.attach("read", 80, 24)];
    for user in &mut users {
        user.expect("begun");
    }
    let detached = std::process::Command::new(PROGRAM)
        .arg("detach")
        .arg(held.socket())
        .output()
        .unwrap();
    assert_eq!(detached.stdout, b"2\n");
    for user in &mut users {
        user.expect("Detached(AllDetached)");
    }
}

#[test]
fn killed_client_leaves_room_for_another() {
    let held = HeldCommand::start(ANSWER);
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    user.client.kill().unwrap();
    user.client.wait().unwrap();
    let mut next = held.attach("attach", 80, 24);
    next.type_keys("next\r");
    next.expect("got <next>");
}

#[test]
fn script_types_lines_and_leaves_at_the_end_of_its_input() {
    let mut held = HeldCommand::start("read line; echo \"$line\" > got; read line; exit 3");
    let (mut client, mut input) = held.script("attach");
    input.write_all(b"from a script\n").unwrap();
    drop(input);
    assert!(wait_for_end(&mut client).success());
    let (mut client, mut input) = held.script("attach");
    input.write_all(b"\n").unwrap();
    assert_eq!(wait_for_end(&mut client).code(), Some(3));
    drop(input);
    assert_eq!(held.wait().code(), Some(3));
    let got = std::fs::read_to_string(held.file("got")).unwrap();
    assert_eq!(got, "from a script\n");
}

#[test]
fn socket_is_private() {
    let held = HeldCommand::start("read line");
    let mode = std::fs::metadata(held.socket()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}
