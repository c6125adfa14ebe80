//! Connections to the terminal of a session, through its service.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::{self, JoinHandle};

use tollgate_client::types::AccessRole;
use tollgate_client::{ApiClient, Fingerprint};
use tollgate_server::access::ServiceLimits;

use crate::common::test_service::TestService;
use crate::network::refused;

/// Serves one connection to the terminal of a service: returns each byte that arrives, plus one.
fn terminal(service: &TestService) -> JoinHandle<()> {
    let socket = service.data_dir.path().join("terminal.sock");
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap_or(0) == 1 {
            stream.write_all(&[byte[0] + 1]).unwrap();
        }
    })
}

/// Checks that a stream leads to the terminal.
fn check(stream: &mut UnixStream) {
    stream.write_all(b"HAL").unwrap();
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"IBM");
}

#[test]
fn user_reaches_the_terminal_over_tls() {
    let open = TestService::new(ServiceLimits::default());
    let ended = terminal(&open);
    let token = open.make(AccessRole::User, None);
    let mut stream = open.remote_client(Some(&token)).attach().unwrap();
    check(&mut stream);
    drop(stream);
    ended.join().unwrap();
}

#[test]
fn user_reaches_the_terminal_over_the_socket() {
    let open = TestService::new(ServiceLimits::default());
    let ended = terminal(&open);
    let client = ApiClient::connect(&open.socket()).unwrap();
    let mut stream = client.attach().unwrap();
    check(&mut stream);
    drop(stream);
    ended.join().unwrap();
}

#[test]
fn end_of_the_terminal_ends_the_connection() {
    let open = TestService::new(ServiceLimits::default());
    let listener = UnixListener::bind(open.data_dir.path().join("terminal.sock")).unwrap();
    let token = open.make(AccessRole::User, None);
    let mut stream = open.remote_client(Some(&token)).attach().unwrap();
    let (mut terminal, _) = listener.accept().unwrap();
    terminal.write_all(b"the last words").unwrap();
    drop(terminal);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the last words");
}

#[test]
fn revoked_token_ends_the_connection() {
    let open = TestService::new(ServiceLimits::default());
    let ended = terminal(&open);
    let token = open.make(AccessRole::User, None);
    let mut stream = open.remote_client(Some(&token)).attach().unwrap();
    check(&mut stream);
    let name = Fingerprint::of(token.as_bytes()).short();
    open.keyring.revoke(&name, |_| true).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    ended.join().unwrap();
}

#[test]
fn token_of_a_worker_does_not_reach_the_terminal() {
    let open = TestService::new(ServiceLimits::default());
    let _listener = UnixListener::bind(open.data_dir.path().join("terminal.sock")).unwrap();
    let token = open.make(AccessRole::Worker, None);
    let (status, problem) = refused(open.remote_client(Some(&token)).attach());
    assert_eq!(
        (status, &*problem.error),
        (403, "this token can only take work")
    );
}

#[test]
fn token_of_another_user_does_not_reach_the_terminal() {
    let open = TestService::new(ServiceLimits::default());
    let _listener = UnixListener::bind(open.data_dir.path().join("terminal.sock")).unwrap();
    let other = rustix::process::geteuid().as_raw() + 1;
    let now = crate::common::test_service::NOW;
    let made = open
        .keyring
        .create_token(other, AccessRole::User, (None, None), now);
    let token = made.unwrap().0.reveal().to_owned();
    let (status, problem) = refused(open.remote_client(Some(&token)).attach());
    assert_eq!(status, 403, "{problem:?}");
}

#[test]
fn service_without_a_session_reports_it() {
    let open = TestService::new(ServiceLimits::default());
    let token = open.make(AccessRole::User, None);
    let (status, problem) = refused(open.remote_client(Some(&token)).attach());
    assert_eq!(status, 404);
    assert!(problem.error.starts_with("no session"), "{problem:?}");
    assert!(problem.hint.is_some());
}
