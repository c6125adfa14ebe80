//! A connection to a holder.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::PollFlags;

use crate::message::{
    ClientMessage, DetachReason, GREETING, HolderMessage, MAX_CONTENTS, MessageDecoder,
    TerminalMessage, WindowSize,
};

/// Length of a piece that is read at once, in bytes.
const PIECE: usize = 16 << 10;

/// The place of a client at its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientRole {
    /// Connected, and not attached.
    Visitor,
    /// Sees the output.
    Reader,
    /// Types too.
    Writer,
    /// Gets its last message.
    Leaving,
    /// The connection is over.
    Gone,
}

/// A connection to a holder.
pub(super) struct HeldClient {
    stream: UnixStream,
    decoder: MessageDecoder,
    role: ClientRole,
    window: Option<WindowSize>,
    /// When the client was attached, in seconds since 1970.
    attached_at_s: u64,
    /// Messages that are not sent.
    unsent: VecDeque<Vec<u8>>,
    /// Length of the sent part of the first message, in bytes.
    n_sent: usize,
    /// Length of all messages that are not sent, in bytes.
    n_unsent: usize,
    /// Whether output was skipped, so that the screen must be drawn again.
    has_skipped: bool,
    /// When the client last sent something.
    received_at: Instant,
    /// When the client last took something, or had nothing to take.
    took_at: Instant,
}

impl HeldClient {
    /// Begins a connection.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            decoder: MessageDecoder::default(),
            role: ClientRole::Visitor,
            window: None,
            attached_at_s: 0,
            unsent: VecDeque::from([GREETING.to_vec()]),
            n_sent: 0,
            n_unsent: GREETING.len(),
            has_skipped: false,
            received_at: Instant::now(),
            took_at: Instant::now(),
        })
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    pub(super) fn is_attached(&self) -> bool {
        matches!(self.role, ClientRole::Reader | ClientRole::Writer)
    }

    pub(super) fn is_writer(&self) -> bool {
        self.role == ClientRole::Writer
    }

    pub(super) fn is_gone(&self) -> bool {
        self.role == ClientRole::Gone
    }

    /// Returns the window of an attached client that has one.
    pub(super) fn window(&self) -> Option<WindowSize> {
        self.window.filter(|_| self.is_attached())
    }

    pub(super) fn set_window(&mut self, window: WindowSize) {
        self.window = Some(window);
    }

    /// Returns when the client was attached, in seconds since 1970.
    pub(super) fn attached_at_s(&self) -> u64 {
        self.attached_at_s
    }

    /// Returns the length of what is not sent, in bytes.
    pub(super) fn unsent(&self) -> usize {
        self.n_unsent
    }

    /// Returns what to wait for. Input of a client that types is read as the command takes it.
    pub(super) fn interest(&self, takes_input: bool) -> PollFlags {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.may_read(takes_input));
        flags.set(PollFlags::OUT, self.n_unsent > 0 || self.has_skipped);
        flags
    }

    /// Attaches the client.
    pub(super) fn attach(&mut self, role: ClientRole, window: Option<WindowSize>) {
        self.role = role;
        self.window = window;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.attached_at_s = now.map_or(0, |now| now.as_secs());
        self.send(&HolderMessage::Attached);
    }

    /// Reads a piece of input.
    pub(super) fn read(&mut self) {
        let mut piece = [0; PIECE];
        match self.stream.read(&mut piece) {
            Ok(0) => self.leave(),
            Ok(_) if self.role == ClientRole::Leaving => {}
            Ok(length) => {
                self.decoder.push(&piece[..length]);
                self.received_at = Instant::now();
            }
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.leave(),
        }
    }

    /// Returns the next message. A client that sends anything else is dropped.
    pub(super) fn next_message(&mut self) -> Option<ClientMessage> {
        if matches!(self.role, ClientRole::Leaving | ClientRole::Gone) {
            return None;
        }
        let message = self.decoder.next_message();
        if message.is_err() {
            // Our greeting says the version, if that is what differs.
            self.role = ClientRole::Leaving;
            self.write();
        }
        message.unwrap_or(None)
    }

    /// Sends a message, as far as the client takes it now.
    pub(super) fn send(&mut self, message: &HolderMessage) {
        let bytes = message.encode();
        if self.n_unsent == 0 {
            self.took_at = Instant::now();
        }
        self.n_unsent += bytes.len();
        self.unsent.push_back(bytes);
        self.write();
    }

    /// Sends output. A reader that has too much of it already skips to what the screen shows later.
    pub(super) fn send_output(&mut self, output: &HolderMessage, max_unsent: usize) {
        if self.role == ClientRole::Reader && self.n_unsent >= max_unsent {
            self.has_skipped = true;
            self.skip_unsent();
        }
        if !self.has_skipped {
            self.send(output);
        }
    }

    /// Returns whether the client has skipped output and now takes more.
    pub(super) fn must_redraw(&self) -> bool {
        self.has_skipped && self.n_unsent == 0
    }

    /// Sends what the screen shows.
    pub(super) fn redraw(&mut self, picture: Vec<u8>) {
        self.has_skipped = false;
        for piece in picture.chunks(MAX_CONTENTS) {
            self.send(&HolderMessage::Output(piece.to_vec()));
        }
    }

    /// Sends the last message. The connection ends once the client has it.
    pub(super) fn end(&mut self, message: &HolderMessage) {
        self.role = match self.role {
            ClientRole::Gone => return,
            ClientRole::Visitor | ClientRole::Reader | ClientRole::Writer | ClientRole::Leaving => {
                ClientRole::Leaving
            }
        };
        self.send(message);
    }

    /// Ends the connection.
    pub(super) fn leave(&mut self) {
        self.role = ClientRole::Gone;
    }

    /// Writes as much as the client takes.
    pub(super) fn write(&mut self) {
        while let Some(first) = self.unsent.front() {
            match (&self.stream).write(&first[self.n_sent..]) {
                Ok(length) => {
                    self.n_sent += length;
                    self.n_unsent -= length;
                    self.took_at = Instant::now();
                    if self.n_sent == first.len() {
                        self.unsent.pop_front();
                        self.n_sent = 0;
                    }
                }
                Err(error) if is_temporary(&error) => return,
                Err(_) => return self.leave(),
            }
        }
        if self.role == ClientRole::Leaving {
            self.leave();
        }
    }

    /// Drops a client that has sent nothing for too long.
    pub(super) fn check_silence(&mut self, max_silence: Duration, takes_input: bool) {
        if self.is_writer() && !takes_input {
            self.received_at = Instant::now();
        }
        if self.received_at.elapsed() >= max_silence {
            self.leave();
        }
    }

    /// Detaches a client that has taken nothing for too long, and drops it if it does not take that.
    pub(super) fn check_stall(&mut self, timeout: Duration) {
        if self.n_unsent == 0 || self.took_at.elapsed() < timeout {
            return;
        }
        if !self.is_attached() {
            return self.leave();
        }
        self.skip_unsent();
        self.end(&HolderMessage::Detached(DetachReason::Stalled));
        self.took_at = Instant::now();
    }

    /// Drops what is not sent, but for the rest of a message that was begun.
    fn skip_unsent(&mut self) {
        self.unsent.truncate(usize::from(self.n_sent > 0));
        self.n_unsent = self.unsent.iter().map(Vec::len).sum::<usize>() - self.n_sent;
    }

    fn may_read(&self, takes_input: bool) -> bool {
        match self.role {
            ClientRole::Visitor | ClientRole::Reader => true,
            ClientRole::Writer => takes_input,
            ClientRole::Leaving | ClientRole::Gone => false,
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
