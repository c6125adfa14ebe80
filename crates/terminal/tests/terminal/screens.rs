//! Window sizes, redrawing, and the modes of a user's terminal.

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Termios};

use crate::common::{HeldCommand, wait_until};

#[test]
fn window_is_the_smallest_of_the_attached_ones() {
    let held = HeldCommand::start("echo begun; while read line; do stty size; done");
    let mut wide = held.attach("attach", 100, 20);
    wide.expect("begun");
    wide.type_keys("\r");
    wide.expect("20 100");
    let mut tall = held.attach("read", 70, 50);
    tall.expect("20 100");
    wide.type_keys("\r");
    wide.expect("20 70");
    tall.resize(60, 10);
    wait_until("the new size", || {
        wide.type_keys("\r");
        wide.has_shown("10 60").then_some(())
    });
    tall.client.kill().unwrap();
    wait_until("the first size", || {
        wide.type_keys("\r");
        wide.has_shown("20 100").then_some(())
    });
}

#[test]
fn screen_is_drawn_again_for_a_terminal() {
    let held = HeldCommand::start("printf 'old\\033[2J\\033[5;7Hnew'; read line");
    let mut first = held.attach("attach", 80, 24);
    first.expect("new");
    first.type_keys("\x1dd");
    first.expect("Detached");
    let mut second = held.attach("attach", 80, 24);
    second.expect("new");
    assert!(!second.shown.contains("old"));
}

#[test]
fn reader_without_a_terminal_gets_the_output_as_it_was() {
    let mut held = HeldCommand::start("printf 'old\\033[2Jnew'; read line");
    let mut user = held.attach("attach", 80, 24);
    user.expect("new");
    let (client, input) = held.script("read");
    user.type_keys("\r");
    drop(input);
    held.wait();
    let output = client.wait_with_output().unwrap().stdout;
    let output = String::from_utf8_lossy(&output);
    assert!(
        output.is_empty() || output.starts_with("old\x1b[2Jnew"),
        "{output:?}"
    );
}

fn is_raw(modes: &Termios) -> bool {
    !modes.local_modes.contains(LocalModes::ICANON)
}

fn is_same(one: &Termios, other: &Termios) -> bool {
    one.local_modes == other.local_modes
        && one.input_modes == other.input_modes
        && one.output_modes == other.output_modes
}

#[test]
fn modes_are_set_back_on_every_way_out() {
    let held = HeldCommand::start("echo begun; while read line; do :; done");
    for signal in [
        None,
        Some(Signal::TERM),
        Some(Signal::HUP),
        Some(Signal::INT),
    ] {
        let mut user = held.attach("attach", 80, 24);
        user.expect("begun");
        assert!(is_raw(&user.modes()), "{signal:?}");
        match signal {
            None => user.type_keys("\x1dd"),
            Some(signal) => kill_process(Pid::from_child(&user.client), signal).unwrap(),
        }
        user.wait();
        assert!(is_same(&user.modes(), &user.modes_before), "{signal:?}");
    }
}

#[test]
fn modes_that_the_command_changed_are_set_back() {
    let held = HeldCommand::start("printf '\\033[?1049h\\033[?25lfull'; read line");
    let mut user = held.attach("attach", 80, 24);
    user.expect("full");
    user.type_keys("\x1dd");
    user.wait();
    assert!(user.shown.contains("\x1b[?1049l"), "{:?}", user.shown);
    assert!(user.shown.contains("\x1b[?25h"), "{:?}", user.shown);
}
