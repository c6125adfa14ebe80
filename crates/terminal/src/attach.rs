//! The user's end of a held command: a terminal, or a script, that is attached to it.

mod detach_key;
mod user_terminal;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use detach_key::{DetachKey, TypedInput};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::SignalKind;

use crate::message::{
    ClientMessage, DetachReason, GREETING, HolderMessage, MessageDecoder, MessageError,
    TerminalAccess, TerminalMessage, WindowSize,
};
use crate::screen::TerminalModes;
use crate::signals;
pub use user_terminal::UserTerminal;

/// Time between two pings.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum silence of the holder, which answers pings.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// Maximum time until the holder confirms that this client leaves.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum length of what waits for either side, in bytes. Then the other side waits.
const MAX_UNSENT: usize = 64 << 10;
/// Length of a piece that is read or written at once, in bytes: what a pipe that is ready takes.
const PIECE: usize = 4 << 10;

/// How a client attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachOptions {
    /// The access that the client asks for.
    pub access: TerminalAccess,
    /// The meaning of the end of the input.
    pub end_of_input: EndOfInput,
}

/// The meaning of the end of the input of a client that is no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfInput {
    /// The client stays attached until the command ends.
    Stay,
    /// The client is detached.
    Detach,
    /// The command finds the end of its input, and the client stays.
    PassOn,
}

/// How an attachment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachEnd {
    /// The client was detached, and the command goes on.
    Detached(DetachReason),
    /// The command has ended, with this exit code.
    Ended(u8),
    /// The connection is gone. The command may go on.
    Lost,
    /// A signal asks this process to end: its number. The command goes on.
    Signal(u8),
}

/// An error of an attachment.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Another client types.
    #[error("another terminal is attached since {} s", seconds_since(*since))]
    Occupied {
        /// When the other client was attached.
        since: SystemTime,
    },
    /// The other end is no holder of this version.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The terminal cannot be used, or is gone.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

fn seconds_since(instant: SystemTime) -> u64 {
    instant.elapsed().map_or(0, |elapsed| elapsed.as_secs())
}

/// Attaches a terminal to the command of a holder, until it is detached or the command ends. `stream` is
/// a connection to the holder's socket, or one end of a socket pair that carries another connection.
///
/// A terminal is in raw mode meanwhile, and set back in every case but SIGKILL. Ctrl-] and then d detach
/// it; Ctrl-] twice is Ctrl-]. Input that is no terminal is passed on as it is, without such keys.
///
/// # Errors
/// If another client types, the other end is no holder of this version, or the terminal fails.
pub fn attach(
    stream: UnixStream,
    terminal: &UserTerminal,
    options: &AttachOptions,
) -> Result<AttachEnd, AttachError> {
    let signals = signals::watch(&[
        SignalKind::window_change(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
    ])?;
    stream.set_nonblocking(true)?;
    let mut client = TerminalClient::new(&stream, signals, terminal, options);
    let raw = terminal.set_raw()?;
    let ended = client.run();
    client.write_rest();
    drop(raw);
    // A thread that carries another connection ends with this one.
    let _ = stream.shutdown(Shutdown::Both);
    ended
}

/// Detaches all clients of a holder. Returns their number.
///
/// # Errors
/// If no holder of this version serves the socket.
pub fn detach_all(socket: &Path) -> io::Result<u32> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LEAVE_TIMEOUT))?;
    stream.write_all(&GREETING)?;
    stream.write_all(&ClientMessage::DetachAll.encode())?;
    let mut decoder = MessageDecoder::default();
    let mut piece = [0; PIECE];
    loop {
        let message = decoder.next_message().map_err(io::Error::other)?;
        if let Some(HolderMessage::AllDetached(count)) = message {
            return Ok(count);
        }
        match stream.read(&mut piece)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => decoder.push(&piece[..length]),
        }
    }
}

/// The state of an attached client.
struct TerminalClient<'a> {
    stream: &'a UnixStream,
    signals: UnixStream,
    terminal: &'a UserTerminal,
    options: &'a AttachOptions,
    decoder: MessageDecoder,
    keys: DetachKey,
    modes: TerminalModes,
    /// Bytes for the holder.
    unsent: VecDeque<u8>,
    /// Bytes for the terminal.
    output: VecDeque<u8>,
    has_input: bool,
    is_attached: bool,
    /// How it ends, once what the terminal has not taken is shown.
    end: Option<AttachEnd>,
    /// When this client leaves without an answer, once it was asked to.
    leave_at: Option<Instant>,
    ping_at: Instant,
    received_at: Instant,
}

/// The streams that `poll` found ready.
struct ClientReadiness {
    signals: bool,
    stream: PollFlags,
    input: bool,
    output: bool,
}

impl<'a> TerminalClient<'a> {
    fn new(
        stream: &'a UnixStream,
        signals: UnixStream,
        terminal: &'a UserTerminal,
        options: &'a AttachOptions,
    ) -> Self {
        let window = terminal.window();
        let mut client = Self {
            stream,
            signals,
            terminal,
            options,
            decoder: MessageDecoder::default(),
            keys: DetachKey::default(),
            modes: TerminalModes::new(window.unwrap_or(WindowSize {
                columns: 80,
                rows: 24,
            })),
            unsent: VecDeque::from(GREETING.to_vec()),
            output: VecDeque::new(),
            has_input: true,
            is_attached: false,
            end: None,
            leave_at: None,
            ping_at: Instant::now() + PING_INTERVAL,
            received_at: Instant::now(),
        };
        client.send(&ClientMessage::Attach {
            access: options.access,
            window,
        });
        client
    }

    fn run(&mut self) -> Result<AttachEnd, AttachError> {
        loop {
            if let Some(end) = self.end.filter(|_| self.output.is_empty()) {
                return Ok(end);
            }
            let ready = self.wait()?;
            if ready.signals
                && let Some(signal) = self.read_signals()
            {
                return Ok(AttachEnd::Signal(signal));
            }
            if ready.output {
                self.write_output()?;
            }
            if ready.input {
                self.read_input()?;
            }
            self.serve_stream(ready.stream)?;
            self.keep_alive();
        }
    }

    fn wait(&self) -> io::Result<ClientReadiness> {
        let is_over = self.end.is_some();
        let mut stream = PollFlags::empty();
        stream.set(PollFlags::IN, self.output.len() < MAX_UNSENT);
        stream.set(PollFlags::OUT, !self.unsent.is_empty());
        let takes_input = self.has_input && self.is_attached && self.unsent.len() < MAX_UNSENT;
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut add = |fd, flags, is_watched: bool| {
            is_watched.then(|| {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                fds.len() - 1
            })
        };
        let stream = add(self.stream.as_fd(), stream, !is_over && !stream.is_empty());
        let input = add(
            self.terminal.input(),
            PollFlags::IN,
            !is_over && takes_input,
        );
        let output = add(
            self.terminal.output(),
            PollFlags::OUT,
            !self.output.is_empty(),
        );
        let timeout = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let found = |at: Option<usize>| at.map_or(PollFlags::empty(), |at| fds[at].revents());
        Ok(ClientReadiness {
            signals: !fds[0].revents().is_empty(),
            stream: found(stream),
            input: !found(input).is_empty(),
            output: !found(output).is_empty(),
        })
    }

    /// Handles signals. Returns one that asks this process to end.
    fn read_signals(&mut self) -> Option<u8> {
        let mut numbers = [0; 64];
        let length = (&self.signals).read(&mut numbers).unwrap_or(0);
        let resized = SignalKind::window_change().as_raw_value();
        for &number in &numbers[..length] {
            if i32::from(number) != resized {
                return Some(number);
            }
        }
        if let Some(window) = self.terminal.window() {
            self.send(&ClientMessage::Window(window));
        }
        None
    }

    fn read_input(&mut self) -> io::Result<()> {
        let mut piece = [0; PIECE];
        let length = match rustix::io::read(self.terminal.input(), &mut piece) {
            Ok(length) => length,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(()),
            // The terminal is gone.
            Err(rustix::io::Errno::IO) => 0,
            Err(error) => return Err(error.into()),
        };
        let typed = &piece[..length];
        if typed.is_empty() {
            self.on_end_of_input();
        } else if self.terminal.is_terminal() {
            let TypedInput { bytes, detaches } = self.keys.filter(typed);
            self.send_input(bytes);
            if detaches {
                self.leave();
            }
        } else {
            self.send_input(typed.to_vec());
        }
        Ok(())
    }

    fn on_end_of_input(&mut self) {
        self.has_input = false;
        if self.terminal.is_terminal() {
            // It is gone.
            return self.leave();
        }
        match self.options.end_of_input {
            EndOfInput::Stay => {}
            EndOfInput::Detach => self.leave(),
            EndOfInput::PassOn => self.send(&ClientMessage::EndOfInput),
        }
    }

    fn send_input(&mut self, bytes: Vec<u8>) {
        if self.options.access != TerminalAccess::ReadOnly && !bytes.is_empty() {
            self.send(&ClientMessage::Input(bytes));
        }
    }

    fn leave(&mut self) {
        self.send(&ClientMessage::Detach);
        self.leave_at = Some(Instant::now() + LEAVE_TIMEOUT);
        self.has_input = false;
    }

    fn send(&mut self, message: &ClientMessage) {
        self.unsent.extend(message.encode());
    }

    fn serve_stream(&mut self, flags: PollFlags) -> Result<(), AttachError> {
        if flags.contains(PollFlags::OUT) {
            let (piece, _) = self.unsent.as_slices();
            match (&mut &*self.stream).write(piece) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if is_temporary(&error) => {}
                // The holder's last messages may still be there to read.
                Err(_) => self.unsent.clear(),
            }
        }
        if flags.intersects(!PollFlags::OUT) {
            let mut piece = [0; PIECE];
            match (&mut &*self.stream).read(&mut piece) {
                Ok(0) => self.end(AttachEnd::Lost),
                Ok(length) => {
                    self.received_at = Instant::now();
                    self.decoder.push(&piece[..length]);
                }
                Err(error) if is_temporary(&error) => {}
                Err(_) => self.end(AttachEnd::Lost),
            }
            while let Some(message) = self.decoder.next_message()? {
                self.on_message(message)?;
            }
        }
        Ok(())
    }

    fn on_message(&mut self, message: HolderMessage) -> Result<(), AttachError> {
        match message {
            HolderMessage::Attached => self.is_attached = true,
            HolderMessage::Occupied { since_s } => {
                let since = UNIX_EPOCH.checked_add(Duration::from_secs(since_s));
                let since = since.unwrap_or(UNIX_EPOCH);
                return Err(AttachError::Occupied { since });
            }
            HolderMessage::Output(bytes) => {
                if self.terminal.shows_output() {
                    self.modes.follow(&bytes);
                }
                self.output.extend(bytes);
            }
            HolderMessage::Ended(code) => self.end(AttachEnd::Ended(code)),
            HolderMessage::Detached(reason) => self.end(AttachEnd::Detached(reason)),
            // It is no answer to this client.
            HolderMessage::AllDetached(_) | HolderMessage::Pong => {}
        }
        Ok(())
    }

    /// Notes how it ends. The first reason holds.
    fn end(&mut self, end: AttachEnd) {
        self.end = self.end.or(Some(end));
    }

    fn write_output(&mut self) -> io::Result<()> {
        let (piece, _) = self.output.as_slices();
        let piece = &piece[..piece.len().min(PIECE)];
        match rustix::io::write(self.terminal.output(), piece) {
            Ok(length) => drop(self.output.drain(..length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn keep_alive(&mut self) {
        let now = Instant::now();
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            // Any other message shows as well that this client lives.
            if self.unsent.is_empty() {
                self.send(&ClientMessage::Ping);
            }
        }
        if self.output.len() >= MAX_UNSENT {
            // The holder is not read.
            self.received_at = now;
        }
        if now.duration_since(self.received_at) >= MAX_SILENCE {
            self.end(AttachEnd::Lost);
        }
        if self.leave_at.is_some_and(|at| now >= at) {
            self.end(AttachEnd::Detached(DetachReason::Own));
        }
    }

    /// Sets the modes of the terminal back that output has changed.
    fn write_rest(&mut self) {
        if self.terminal.shows_output() {
            // A terminal that takes nothing is gone.
            let _ = rustix::io::write(self.terminal.output(), &self.modes.reset());
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
