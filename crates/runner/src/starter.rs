//! The starter: a small root process beside a service that has given up root.
//!
//! A service for all users parses the network and decides; the runner switches users, and so runs
//! as root. The service starts the starter while it is still root, and then permanently switches to
//! an account of its own. The starter can give the service only one thing: a connection to a
//! runner. It starts a runner if necessary, connects, and passes the connection on. The
//! runner's program and directory were fixed when the starter was started. Of the settings in a
//! request, the starter uses only those that grant no rights. The runner checks each launch itself
//! ([`LaunchGuard`]).
//!
//! A request and an answer are one packet each, and the answer carries the connection as a
//! descriptor. The starter ends with the service, when its channel is closed.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use tollgate_engine::EngineError;

use crate::child::spawn::BlockedSignals;
use crate::guard::LaunchGuard;
use crate::local::{RunnerProcess, read_guard};
use crate::settings::RunnerConfig;
use crate::startup::HELD_BACK;
use crate::state_dir::make_private;

/// The maximum time for which the starter tries to reach a runner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum time for which the service waits for the starter: longer than the starter tries.
const CALLER_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum length of a request or answer, in bytes.
const MAX_PACKET_BYTES: usize = 8 << 10;
/// An answer that carries a connection. Any other answer is an error message.
const CONNECTED: &[u8] = b"+";

/// A handle to a starter. Clones share the same starter. The first failed request closes the
/// channel, which ends the starter: a later answer would be taken for the answer to another
/// request.
#[derive(Clone, Debug)]
pub struct StarterLink(Arc<Mutex<Option<OwnedFd>>>);

impl StarterLink {
    /// Starts a starter with the command `starter`, a program and its first arguments. Its runners
    /// use the directory `folder`, are started as `runner` and check launches against `guard`. The
    /// caller must be root.
    ///
    /// # Errors
    /// If the starter cannot be started.
    pub fn start(
        starter: &[OsString],
        folder: &Path,
        guard: LaunchGuard,
        runner: &[OsString],
    ) -> io::Result<(Self, Child)> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::net::sockopt::set_socket_timeout(
            &ours,
            rustix::net::sockopt::Timeout::Recv,
            Some(CALLER_TIMEOUT),
        )?;
        let mut words = starter.iter();
        let program = words.next().cloned().unwrap_or_default();
        let guard = serde_json::to_string(&guard)?;
        let child = Command::new(program)
            .args(words)
            .arg(folder)
            .arg(guard)
            .args(runner)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .current_dir("/")
            .spawn()?;
        Ok((Self(Arc::new(Mutex::new(Some(ours)))), child))
    }

    /// Requests a connection to a runner, which is started with these settings if necessary.
    pub(crate) fn connect(&self, settings: &RunnerConfig) -> Result<UnixStream, EngineError> {
        let unreachable = |reason: String| EngineError::Unreachable { reason };
        let request =
            serde_json::to_vec(settings).map_err(|error| unreachable(error.to_string()))?;
        let mut channel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = channel.as_ref() else {
            return Err(unreachable("the starter has ended".to_owned()));
        };
        let sent = rustix::net::send(open, &request, SendFlags::NOSIGNAL);
        match sent.and_then(|_| receive_packet(open)) {
            Ok((answer, Some(stream))) if answer == CONNECTED => Ok(stream.into()),
            Ok((answer, None)) if !answer.is_empty() => {
                Err(unreachable(String::from_utf8_lossy(&answer).into_owned()))
            }
            Ok(_) => {
                *channel = None;
                Err(unreachable("the starter has ended".to_owned()))
            }
            Err(error) => {
                *channel = None;
                Err(unreachable(format!("the starter does not answer: {error}")))
            }
        }
    }
}

/// Runs a starter. `args` are the directory of its runners, the [`LaunchGuard`] as JSON, and the
/// program and first arguments of a runner; requests come through standard input. Returns 0 when
/// the channel is closed, 1 if the starter cannot begin, and 2 on wrong usage.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let [folder, guard, runner @ ..] = args.as_slice() else {
        eprintln!("tollgate: starter: expected a folder, a guard and a program");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), guard.as_bytes(), runner) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollgate: starter: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, guard: &[u8], runner: &[OsString]) -> Result<(), StarterError> {
    let guard: LaunchGuard = serde_json::from_slice(guard)?;
    // A terminal key that ends the foreground processes ends the service, and thereby the starter.
    let _ = rustix::process::setsid();
    // The service is asked to end, and then the starter has no caller any more.
    let _held_back = BlockedSignals::block(&HELD_BACK)?;
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    make_private(folder)?;
    let mut runners = RunnerProcess::new(folder.to_owned(), runner.to_vec());
    loop {
        let (request, _) = receive_packet(&channel)?;
        if request.is_empty() {
            return Ok(());
        }
        let connected = match serde_json::from_slice::<RunnerConfig>(&request) {
            Ok(config) => {
                let settings = RunnerConfig {
                    other_users: true,
                    guard: Some(guard.clone()),
                    ..config
                };
                connect(&mut runners, &settings, &guard).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match connected {
            Ok(stream) => send_packet(&channel, CONNECTED, Some(&stream))?,
            Err(why) => {
                let why = why.as_bytes();
                send_packet(&channel, &why[..why.len().min(MAX_PACKET_BYTES)], None)?;
            }
        }
    }
}

/// Connects to a runner that checks launches against the guard. A runner without a guard was started for
/// a service that was root itself, and would do whatever this service requests. One with another floor
/// of users goes on with it until it ends, because tasks run under it.
fn connect(
    runners: &mut RunnerProcess,
    settings: &RunnerConfig,
    guard: &LaunchGuard,
) -> Result<UnixStream, EngineError> {
    let first = runners.connect(settings, CONNECT_TIMEOUT)?;
    match read_guard(&first) {
        // Only this process starts another runner.
        Some(Some(found)) if found.has_rights_of(guard) => {
            runners.connect(settings, CONNECT_TIMEOUT)
        }
        Some(_) => Err(EngineError::Unreachable {
            reason:
                "the runner there was started for a service with other rights, and ends by itself \
                     10 s after its last task and service"
                    .to_owned(),
        }),
        None => Err(EngineError::Unreachable {
            reason: "the runner has ended before it said hello".to_owned(),
        }),
    }
}

/// The error of a starter that cannot begin, or continue.
#[derive(Debug, thiserror::Error)]
enum StarterError {
    #[error("its guard: {0}")]
    Guard(#[from] serde_json::Error),
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("the service cannot be talked to: {0}")]
    Channel(#[from] Errno),
}

fn send_packet(channel: &OwnedFd, words: &[u8], stream: Option<&UnixStream>) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = stream.iter().map(|stream| stream.as_fd()).collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let words = [IoSlice::new(words)];
    rustix::net::sendmsg(channel, &words, &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// Receives a packet and the descriptor that came with it. The packet is empty if the other end is
/// closed.
fn receive_packet(channel: &OwnedFd) -> Result<(Vec<u8>, Option<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; MAX_PACKET_BYTES];
    let received = loop {
        let mut into = [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(channel, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            // The other end was killed while a packet to it was in transit.
            Err(Errno::CONNRESET) => return Ok((Vec::new(), None)),
            received => break received?,
        }
    };
    bytes.truncate(received.bytes);
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            descriptor = descriptors.last();
        }
    }
    Ok((bytes, descriptor))
}
