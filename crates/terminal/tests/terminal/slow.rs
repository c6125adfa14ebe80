//! Clients that take nothing, send nothing, or send nonsense.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tollgate_terminal::message::{ClientMessage, HolderMessage};
use tollgate_terminal::{HolderOptions, TerminalAccess, exit_code, hold};

use crate::common::{BareClient, HeldCommand, PROGRAM, wait_for_end};

/// More output than queues and sockets hold.
const MUCH: &str = "read line; seq 1000000; exit 6";

fn attach(access: TerminalAccess) -> ClientMessage {
    ClientMessage::Attach {
        access,
        window: None,
    }
}

#[test]
fn reader_that_takes_nothing_delays_no_other() {
    let held = HeldCommand::start("read line; seq 1000000; echo over; read line");
    let mut stuck = BareClient::connect(&held.socket());
    stuck.send(&attach(TerminalAccess::ReadOnly));
    assert_eq!(stuck.receive(), Some(HolderMessage::Attached));
    let mut user = held.attach("attach", 80, 24);
    user.type_keys("\r");
    user.expect("\r\n1000000\r\nover");
    // It then gets what was there, and the last part of the output instead of the middle.
    let mut taken = Vec::new();
    while !String::from_utf8_lossy(&taken).contains("over") {
        match stuck.receive() {
            Some(HolderMessage::Output(bytes)) => taken.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert!(taken.len() < 2_000_000, "{}", taken.len());
}

#[test]
fn writer_that_takes_nothing_is_detached() {
    let dir = tempfile::tempdir().unwrap();
    let options = HolderOptions {
        socket: dir.path().join("socket"),
        command: ["sh", "-c", MUCH].map(Into::into).to_vec(),
        environment: std::env::vars_os().collect(),
        dir: dir.path().to_owned(),
        program: PROGRAM.into(),
        stall_timeout: Duration::from_millis(100),
    };
    let (ready, is_ready) = std::sync::mpsc::channel();
    let socket = options.socket.clone();
    let holding = thread::spawn(move || hold(&options, || ready.send(()).unwrap()).unwrap());
    is_ready.recv().unwrap();
    let mut stuck = BareClient::connect(&socket);
    stuck.send(&attach(TerminalAccess::Write));
    assert_eq!(stuck.receive(), Some(HolderMessage::Attached));
    stuck.send(&ClientMessage::Input(b"\n".to_vec()));
    // The client takes nothing, and yet the command ends.
    assert_eq!(exit_code(holding.join().unwrap()), 6);
    let mut last = None;
    while let Some(message) = stuck.receive() {
        last = Some(message);
    }
    assert_ne!(last, Some(HolderMessage::Ended(6)));
}

#[test]
fn slow_writer_gets_all_output() {
    let mut held = HeldCommand::start(MUCH);
    let mut slow = BareClient::connect(&held.socket());
    slow.send(&attach(TerminalAccess::Write));
    slow.send(&ClientMessage::Input(b"\n".to_vec()));
    let mut lines = 0;
    loop {
        match slow.receive() {
            Some(HolderMessage::Output(bytes)) => {
                lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            }
            Some(HolderMessage::Attached) => {}
            last => break assert_eq!(last, Some(HolderMessage::Ended(6))),
        }
    }
    // The terminal shows the typed line too.
    assert_eq!(lines, 1_000_001);
    assert_eq!(held.wait().code(), Some(6));
}

#[test]
fn input_that_the_command_does_not_take_waits() {
    let held = HeldCommand::start("stty raw -echo; sleep 1000");
    let (mut client, mut input) = held.script("attach");
    let typed = vec![b'x'; 1 << 20];
    let writing = thread::spawn(move || drop(input.write_all(&typed)));
    let mut detach = BareClient::connect(&held.socket());
    // The holder answers others meanwhile.
    detach.send(&attach(TerminalAccess::TakeOver));
    loop {
        match detach.receive() {
            Some(HolderMessage::Attached) => break,
            Some(_) => {}
            None => panic!("the holder ended the connection"),
        }
    }
    wait_for_end(&mut client);
    writing.join().unwrap();
}

#[test]
fn nonsense_ends_only_its_own_connection() {
    let held = HeldCommand::start("echo begun; while read line; do echo \"got <$line>\"; done");
    for nonsense in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"tty\x07",
        b"tty\x01?\0\0\0\0",
        b"tty\x01I\xff\xff\xff\xff",
    ] {
        let mut stream = UnixStream::connect(held.socket()).unwrap();
        stream.write_all(nonsense).unwrap();
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
        assert!(rest.is_empty() || rest == b"tty\x01", "{rest:?}");
    }
    // Input of a client that is not attached goes nowhere.
    let mut other = BareClient::connect(&held.socket());
    other.send(&ClientMessage::Input(b"stranger\n".to_vec()));
    let mut user = held.attach("attach", 80, 24);
    user.expect("begun");
    user.type_keys("me\r");
    user.expect("got <me>");
    assert!(!user.shown.contains("stranger"));
}
