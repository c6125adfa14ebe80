//! The runner's socket: a thread that accepts, and one reading thread per connection.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::thread;

use super::event::RunnerEvent;

/// Accepts connections for as long as the runner lives.
pub(crate) fn spawn_acceptor(listener: UnixListener, to: Sender<RunnerEvent>) {
    let knocking = move || {
        for stream in listener.incoming() {
            let stream = match stream {
                Ok(stream) if is_same_user_or_root(&stream) => stream,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "a connection failed");
                    thread::sleep(std::time::Duration::from_millis(100));
                    continue;
                }
            };
            if to.send(RunnerEvent::Connected(stream)).is_err() {
                return;
            }
        }
    };
    thread::spawn(knocking);
}

/// Returns whether the peer is the owner of the directory or root. Other users cannot open the
/// socket; this second check covers directories that were opened to others by mistake.
fn is_same_user_or_root(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream.as_fd());
    peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

/// Reads the requests of one connection.
pub(crate) fn spawn_reader(connection: u64, stream: UnixStream, to: Sender<RunnerEvent>) {
    let reading = move || {
        for line in BufReader::new(stream).split(b'\n') {
            let call = line
                .ok()
                .and_then(|line| serde_json::from_slice(&line).ok());
            let Some(call) = call else {
                break;
            };
            if to.send(RunnerEvent::Request(connection, call)).is_err() {
                return;
            }
        }
        let _ = to.send(RunnerEvent::Disconnected(connection));
    };
    thread::spawn(reading);
}
