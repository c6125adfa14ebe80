//! The process that runs a command on a pseudo-terminal, and outlives every terminal that is attached.

mod client;
mod serve;
mod socket;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use client::{ClientRole, HeldClient};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket::HolderSocket;
use tokio::signal::unix::SignalKind;

use crate::message::{ClientMessage, HolderMessage, MAX_CONTENTS, WindowSize};
use crate::pty::{CommandSpec, PtyCommand};
use crate::screen::CommandScreen;
use crate::signals;

/// The window of a command before a terminal is attached.
const FIRST_WINDOW: WindowSize = WindowSize {
    columns: 80,
    rows: 24,
};
/// Maximum number of connections.
const MAX_CLIENTS: usize = 64;
/// Length of unsent output of a client from which on the command waits for a client that types, and
/// output is skipped for one that does not, in bytes.
const MAX_UNSENT: usize = 256 << 10;
/// Maximum length of input that the command has not taken, in bytes. Then its client waits.
const MAX_INPUT: usize = 64 << 10;
/// Maximum length of the output that is read from an ended command, in bytes. Processes that it left
/// may write for ever.
const MAX_REST: usize = 1 << 20;
/// Maximum silence of a client. It sends a ping more often.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// Time from the signal that the terminal is gone until the command's session is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two looks whether a session that ends has ended.
const STOP_POLL: Duration = Duration::from_millis(50);
/// Pause between two looks after clients that are silent or take no output.
const CLIENT_POLL: Duration = Duration::from_secs(5);
/// The longest piece that is read at once, in bytes.
const PIECE: usize = 16 << 10;

/// The command of a holder, and the socket for its clients.
#[derive(Clone, Debug)]
pub struct HolderOptions {
    /// The Unix socket for clients. Its directory must exist.
    pub socket: PathBuf,
    /// The command and its arguments. At least one word.
    pub command: Vec<OsString>,
    /// The whole environment of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the command.
    pub dir: PathBuf,
    /// This program: called with [`TTY_COMMAND_ARG`](crate::TTY_COMMAND_ARG), it must call
    /// [`run_tty_command`](crate::run_tty_command) with the words that follow.
    pub program: PathBuf,
    /// How long the command waits for a client that types and takes no output. Then the client is
    /// detached.
    pub stall_timeout: Duration,
}

impl HolderOptions {
    /// The usual time for which a command waits for a client.
    pub const STALL_TIMEOUT: Duration = Duration::from_secs(30);
}

/// Runs a command on a pseudo-terminal to its end, and serves clients on a socket. Returns how it ended,
/// once every client has the rest of the output. `ready` is called once clients can attach.
///
/// SIGTERM, SIGINT and SIGHUP hang up the command: its session gets SIGHUP, and SIGKILL 5 s later or at
/// a second signal.
///
/// # Errors
/// If another holder serves the socket, or the command cannot be started. The command's own failure to
/// start is its exit code 127.
pub fn hold(options: &HolderOptions, ready: impl FnOnce()) -> io::Result<ExitStatus> {
    // Signals are watched before there is a command that they should end.
    let signals = watch_signals()?;
    let socket = HolderSocket::bind(&options.socket)?;
    let command = PtyCommand::start(
        &CommandSpec {
            command: &options.command,
            environment: &options.environment,
            dir: &options.dir,
            program: &options.program,
        },
        FIRST_WINDOW,
    )?;
    let stall_timeout = Some(options.stall_timeout);
    let mut holder = TerminalHolder::new(command, FIRST_WINDOW, signals, stall_timeout);
    ready();
    holder.run(Some(socket))
}

/// Runs a command on a pseudo-terminal to its end, for one client at the other end of a stream. Returns how
/// it ended, once the client has the rest of the output. The command is hung up if the client leaves, and
/// at the signals of [`hold`]. It is started once the client attaches, with the client's window.
///
/// # Errors
/// If the client does not attach, or the command cannot be started.
pub fn hold_for(client: UnixStream, command: &CommandSpec<'_>) -> io::Result<ExitStatus> {
    let mut client = HeldClient::new(client)?;
    let window = wait_for_attach(&mut client)?;
    let signals = watch_signals()?;
    let first = window.unwrap_or(FIRST_WINDOW);
    let command = PtyCommand::start(command, first)?;
    let mut holder = TerminalHolder::new(command, first, signals, None);
    // There is no output yet to draw again.
    client.attach(ClientRole::Writer, window);
    holder.clients.push(client);
    holder.run(None)
}

/// Returns the exit code of a status: 128 + n after signal n.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Waits until a client attaches, and returns its window.
fn wait_for_attach(client: &mut HeldClient) -> io::Result<Option<WindowSize>> {
    client.write();
    while !client.is_gone() {
        wait_for(
            &mut [PollFd::new(client.stream(), client.interest(true))],
            Some(CLIENT_POLL),
        )?;
        client.write();
        client.read();
        while let Some(message) = client.next_message() {
            if let ClientMessage::Attach { window, .. } = message {
                return Ok(window);
            }
        }
        client.check_silence(MAX_SILENCE, true);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

fn watch_signals() -> io::Result<UnixStream> {
    signals::watch(&[
        SignalKind::child(),
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ])
}

/// The state of a holder.
struct TerminalHolder {
    command: PtyCommand,
    signals: UnixStream,
    screen: CommandScreen,
    window: WindowSize,
    clients: Vec<HeldClient>,
    /// Input that the command has not taken.
    input: VecDeque<u8>,
    /// The last byte of the input that was received.
    last_input: u8,
    /// How long the command waits for a client that types; None for ever.
    stall_timeout: Option<Duration>,
    /// When the command's session is killed, once it was hung up.
    kill_at: Option<Instant>,
    has_ended: bool,
}

/// The streams that `poll` found ready.
#[derive(Default)]
struct ReadyStreams {
    signals: bool,
    listener: bool,
    output: bool,
    input: bool,
    clients: Vec<PollFlags>,
}

impl TerminalHolder {
    fn new(
        command: PtyCommand,
        window: WindowSize,
        signals: UnixStream,
        stall_timeout: Option<Duration>,
    ) -> Self {
        Self {
            command,
            signals,
            screen: CommandScreen::new(window),
            window,
            clients: Vec::new(),
            input: VecDeque::new(),
            last_input: b'\n',
            stall_timeout,
            kill_at: None,
            has_ended: false,
        }
    }

    /// Serves clients until the command has ended, and sends them the rest.
    fn run(&mut self, socket: Option<HolderSocket>) -> io::Result<ExitStatus> {
        while !self.is_over()? {
            let listener = socket.as_ref().map(HolderSocket::listener);
            let ready = self.wait(listener)?;
            self.handle(&ready, listener)?;
            if listener.is_none() && self.clients.is_empty() && self.kill_at.is_none() {
                self.stop();
            }
        }
        // A new holder may bind the path from now on.
        drop(socket);
        self.read_rest();
        let status = self.command.exit_status()?;
        self.finish(exit_code(status))?;
        Ok(status)
    }

    /// Returns whether the command has ended, and if it was hung up, its session too.
    fn is_over(&mut self) -> io::Result<bool> {
        if self.kill_at.is_some_and(|at| Instant::now() >= at) {
            self.command.kill_session();
        }
        self.has_ended = self.has_ended || self.command.has_ended()?;
        let is_session_over = || self.command.session_members().is_empty();
        Ok(self.has_ended && (self.kill_at.is_none() || is_session_over()))
    }

    fn wait(&self, listener: Option<&UnixListener>) -> io::Result<ReadyStreams> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut flags = PollFlags::empty();
        flags.set(
            PollFlags::IN,
            !self.must_wait_for_client() && !self.has_ended,
        );
        flags.set(PollFlags::OUT, !self.input.is_empty() && !self.has_ended);
        // The system reports a terminal that is hung up whether it was asked or not.
        let own = fds.len();
        if !flags.is_empty() {
            fds.push(PollFd::new(&self.command.controller, flags));
        }
        let first = fds.len();
        let takes_input = self.input.len() < MAX_INPUT;
        for client in &self.clients {
            fds.push(PollFd::new(client.stream(), client.interest(takes_input)));
        }
        if let Some(listener) = listener {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        wait_for(&mut fds, self.max_wait())?;
        let found = |at: usize| fds[at].revents();
        let command = match first > own {
            true => found(own),
            false => PollFlags::empty(),
        };
        let last = first + self.clients.len();
        Ok(ReadyStreams {
            signals: !found(0).is_empty(),
            listener: listener.is_some() && !found(last).is_empty(),
            output: flags.contains(PollFlags::IN) && command.intersects(!PollFlags::OUT),
            input: command.contains(PollFlags::OUT),
            clients: (first..last).map(found).collect(),
        })
    }

    /// Returns how long to wait for the next event; None for ever.
    fn max_wait(&self) -> Option<Duration> {
        if let Some(at) = self.kill_at {
            let until = at.saturating_duration_since(Instant::now());
            return Some(match self.has_ended || until.is_zero() {
                true => STOP_POLL,
                false => until,
            });
        }
        let pause = CLIENT_POLL.min(self.stall_timeout.unwrap_or(CLIENT_POLL));
        (!self.clients.is_empty()).then_some(pause)
    }

    /// Returns whether a client that types has too much unsent output.
    fn must_wait_for_client(&self) -> bool {
        let mut writers = self.clients.iter().filter(|client| client.is_writer());
        writers.any(|client| client.unsent() >= MAX_UNSENT)
    }

    fn handle(&mut self, ready: &ReadyStreams, listener: Option<&UnixListener>) -> io::Result<()> {
        if ready.signals {
            self.read_signals();
        }
        if ready.output {
            self.read_output();
        }
        if ready.input {
            self.write_input();
        }
        for (at, flags) in ready.clients.iter().enumerate() {
            self.serve_client(at, *flags)?;
        }
        self.drop_late_clients();
        self.remove_gone_clients()?;
        match listener.filter(|_| ready.listener) {
            Some(listener) => self.accept(listener),
            None => Ok(()),
        }
    }

    fn read_signals(&mut self) {
        let child = SignalKind::child().as_raw_value();
        let mut numbers = [0; 64];
        let length = (&self.signals).read(&mut numbers).unwrap_or(0);
        for number in &numbers[..length] {
            if i32::from(*number) != child {
                self.stop();
            }
        }
    }

    /// Hangs up the command, or kills it if that was tried.
    fn stop(&mut self) {
        match self.kill_at {
            None => {
                self.command.hang_up();
                self.kill_at = Some(Instant::now() + STOP_TIMEOUT);
            }
            Some(_) => self.kill_at = Some(Instant::now()),
        }
    }

    /// Reads a piece of output. Returns its length, or 0 without output.
    fn read_output(&mut self) -> usize {
        let mut piece = [0; PIECE];
        let length = rustix::io::read(&self.command.controller, &mut piece).unwrap_or(0);
        let output = &piece[..length];
        if output.is_empty() {
            return 0;
        }
        self.screen.add(output);
        let message = HolderMessage::Output(output.to_vec());
        for client in self
            .clients
            .iter_mut()
            .filter(|client| client.is_attached())
        {
            client.send_output(&message, MAX_UNSENT);
        }
        length
    }

    /// Reads what an ended command has written.
    fn read_rest(&mut self) {
        let mut rest = 0;
        while rest < MAX_REST {
            match self.read_output() {
                0 => return,
                length => rest += length,
            }
        }
    }

    fn write_input(&mut self) {
        let (piece, _) = self.input.as_slices();
        match rustix::io::write(&self.command.controller, piece) {
            Ok(length) => drop(self.input.drain(..length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            // Nothing reads it any more.
            Err(_) => self.input.clear(),
        }
    }
}

/// Waits until a stream is ready, for at most a time.
fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A piece of output fits into a message.
const _: () = assert!(PIECE <= MAX_CONTENTS);
