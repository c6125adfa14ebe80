//! Commands of jobs, on the terminal of the process that waits for them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_terminal::message::{ClientMessage, HolderMessage};
use tollgate_terminal::{
    JOB_COMMAND_ARG, TERMINAL_TICKET, TerminalAccess, TerminalArrival, TerminalListener,
};

use crate::common::{BareClient, PROGRAM, wait_for_end, wait_until};

/// Maximum time until a job connects.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Starts a job that runs a shell script on the terminal of a listener.
fn job(ticket: &str, script: &str) -> Child {
    Command::new(PROGRAM)
        .args([JOB_COMMAND_ARG, "sh", "-c", script])
        .env(TERMINAL_TICKET, ticket)
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

/// Attaches to a job.
fn attached(listener: &TerminalListener) -> BareClient {
    let TerminalArrival::Connected(stream) = listener.wait(TIME_LIMIT) else {
        panic!("the job has not connected");
    };
    let mut client = BareClient::over(stream);
    client.send(&ClientMessage::Attach {
        access: TerminalAccess::Write,
        window: None,
    });
    assert_eq!(client.receive(), Some(HolderMessage::Attached));
    client
}

/// Receives output until a text is in it.
fn expect(client: &mut BareClient, text: &str) {
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(text) {
        match client.receive() {
            Some(HolderMessage::Output(bytes)) => shown.extend(bytes),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&shown)),
        }
    }
}

#[test]
fn job_is_answered_and_its_exit_code_arrives() {
    let listener = TerminalListener::bind().unwrap();
    let script =
        "echo \"ticket <$TOLLGATE_TERMINAL>\"; read line; seq 50000; echo \"got $line\"; exit 9";
    let mut job = job(listener.ticket(), script);
    let mut client = attached(&listener);
    expect(&mut client, "ticket <>");
    client.send(&ClientMessage::Input(b"text\n".to_vec()));
    expect(&mut client, "\n50000\r\ngot text\r\n");
    assert_eq!(client.receive(), Some(HolderMessage::Ended(9)));
    assert_eq!(wait_for_end(&mut job).code(), Some(9));
}

#[test]
fn command_begins_with_the_window_of_its_user() {
    let listener = TerminalListener::bind().unwrap();
    let mut job = job(listener.ticket(), "stty size");
    let TerminalArrival::Connected(stream) = listener.wait(TIME_LIMIT) else {
        panic!("the job has not connected");
    };
    let mut client = BareClient::over(stream);
    client.send(&ClientMessage::Attach {
        access: TerminalAccess::Write,
        window: tollgate_terminal::WindowSize::new(101, 7),
    });
    assert_eq!(client.receive(), Some(HolderMessage::Attached));
    expect(&mut client, "7 101\r\n");
    assert_eq!(client.receive(), Some(HolderMessage::Ended(0)));
    assert!(wait_for_end(&mut job).success());
}

#[test]
fn command_is_hung_up_when_its_user_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hup");
    let listener = TerminalListener::bind().unwrap();
    let script = format!(
        "trap 'echo gone > {}; exit' HUP; echo begun; while :; do sleep 0.1; done",
        file.display()
    );
    let mut job = job(listener.ticket(), &script);
    let mut client = attached(&listener);
    expect(&mut client, "begun");
    drop(client);
    wait_for_end(&mut job);
    assert_eq!(fs::read_to_string(file).unwrap(), "gone\n");
}

#[test]
fn user_sees_the_end_of_a_job_that_is_ended() {
    let listener = TerminalListener::bind().unwrap();
    let mut job = job(
        listener.ticket(),
        "trap 'exit 5' HUP; echo begun; while :; do sleep 0.1; done",
    );
    let mut client = attached(&listener);
    expect(&mut client, "begun");
    kill_process(Pid::from_child(&job), Signal::TERM).unwrap();
    let end = wait_until("the end", || match client.receive() {
        Some(HolderMessage::Output(_)) => None,
        end => Some(end),
    });
    assert_eq!(end, Some(HolderMessage::Ended(5)));
    wait_for_end(&mut job);
}

#[test]
fn stream_ends_with_a_killed_job() {
    let listener = TerminalListener::bind().unwrap();
    let mut job = job(listener.ticket(), "echo begun; read line");
    let mut client = attached(&listener);
    expect(&mut client, "begun");
    job.kill().unwrap();
    job.wait().unwrap();
    assert_eq!(client.receive(), None);
}

#[test]
fn other_secret_gets_no_terminal() {
    let listener = TerminalListener::bind().unwrap();
    let (_, addresses) = listener.ticket().split_once(' ').unwrap();
    let mut other = job(&format!("{} {addresses}", "00".repeat(32)), "true");
    assert_eq!(wait_for_end(&mut other).code(), Some(69));
    // Nonsense on the port does not keep the job from connecting.
    let loopback = addresses.rsplit(' ').next().unwrap();
    let mut nonsense = TcpStream::connect(loopback).unwrap();
    nonsense.write_all(&[0; 64]).unwrap();
    let mut job = job(listener.ticket(), "exit 2");
    let mut client = attached(&listener);
    assert_eq!(client.receive(), Some(HolderMessage::Ended(2)));
    assert_eq!(wait_for_end(&mut job).code(), Some(2));
}

#[test]
fn silent_connections_block_no_job_from_its_terminal() {
    let listener = TerminalListener::bind().unwrap();
    let loopback = listener.ticket().rsplit(' ').next().unwrap();
    let silent: Vec<TcpStream> = (0..250)
        .map(|_| TcpStream::connect(loopback).unwrap())
        .collect();
    let mut job = job(listener.ticket(), "exit 2");
    let mut client = attached(&listener);
    assert_eq!(client.receive(), Some(HolderMessage::Ended(2)));
    assert_eq!(wait_for_end(&mut job).code(), Some(2));
    // The oldest ones were closed for it.
    assert!(matches!((&silent[0]).read(&mut [0]), Ok(0) | Err(_)));
}
