//! The messages between a holder and its clients, as bytes. Pure: no stream, no clock.
//!
//! Each side begins with a greeting: `tty` and the version, one byte. A message is its kind, one byte;
//! the length of its contents, four bytes, the lowest first; and its contents. Both sides must speak
//! the same version, because a holder may be older than the program of a client.

/// The version of the messages. A change of any message is a new version.
pub const VERSION: u8 = 1;
/// The greeting of each side.
pub const GREETING: [u8; 4] = [b't', b't', b'y', VERSION];
/// Maximum length of the contents of a message, in bytes.
pub const MAX_CONTENTS: usize = 64 << 10;

/// Length of the kind and the length of a message, in bytes.
const HEAD_LEN: usize = 5;

/// The rights of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalAccess {
    /// See the output. Any number of clients may.
    ReadOnly,
    /// Type too, unless another client does.
    Write,
    /// Type, in place of a client that does.
    TakeOver,
}

/// The size of a window, in characters. Neither is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Characters in a row.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// The reason why a client is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachReason {
    /// Its user asked for it.
    Own,
    /// Another client took its place.
    TakenOver,
    /// All clients were detached.
    AllDetached,
    /// It took no output for too long.
    Stalled,
}

/// A message from a client to the holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// A client attaches. The first message, unless it is [`ClientMessage::DetachAll`].
    Attach {
        /// The rights that it asks for.
        access: TerminalAccess,
        /// Its window. None if it is no terminal.
        window: Option<WindowSize>,
    },
    /// All clients are to be detached.
    DetachAll,
    /// Typed bytes.
    Input(Vec<u8>),
    /// No input follows. The command finds the end of its input.
    EndOfInput,
    /// The window has another size.
    Window(WindowSize),
    /// The client leaves.
    Detach,
    /// The client lives.
    Ping,
}

/// A message from the holder to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderMessage {
    /// The client is attached.
    Attached,
    /// The client is not attached: another one types.
    Occupied {
        /// When the other client was attached, in seconds since 1970.
        since_s: u64,
    },
    /// Output of the command.
    Output(Vec<u8>),
    /// The command has ended. The last message.
    Ended(u8),
    /// The client is detached. The last message.
    Detached(DetachReason),
    /// All clients are detached: their number. The last message.
    AllDetached(u32),
    /// The answer to a ping.
    Pong,
}

/// A message that can be encoded and decoded.
pub trait TerminalMessage: Sized {
    /// Returns the kind and the contents.
    fn parts(&self) -> (u8, Vec<u8>);

    /// Returns the message of a kind and contents. None if they are invalid.
    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self>;

    /// Returns the message as bytes. Its contents must not be longer than [`MAX_CONTENTS`].
    fn encode(&self) -> Vec<u8> {
        let (kind, contents) = self.parts();
        assert!(contents.len() <= MAX_CONTENTS, "too long a message");
        let mut bytes = Vec::with_capacity(HEAD_LEN + contents.len());
        bytes.push(kind);
        bytes.extend((contents.len() as u32).to_le_bytes());
        bytes.extend(contents);
        bytes
    }
}

/// An error of a stream of messages. The stream cannot be used further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The other side speaks another version.
    #[error(
        "the terminal is held by another version of this program (its messages: version {0}, ours: {VERSION})"
    )]
    OtherVersion(u8),
    /// The other side is no terminal.
    #[error("this is not a terminal of a session")]
    NoTerminal,
    /// A message is too long, or none that is known.
    #[error("the other end of the terminal sends what this version cannot read")]
    Malformed,
}

/// A decoder of a stream of messages, which arrives in pieces.
#[derive(Debug, Default)]
pub struct MessageDecoder {
    bytes: Vec<u8>,
    is_greeted: bool,
}

impl MessageDecoder {
    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Removes and returns the next message. None if more bytes are needed.
    ///
    /// # Errors
    /// If the bytes are no message of this version.
    pub fn next_message<M: TerminalMessage>(&mut self) -> Result<Option<M>, MessageError> {
        if !self.is_greeted && !self.take_greeting()? {
            return Ok(None);
        }
        let Some((&[kind, a, b, c, d], rest)) = self.bytes.split_first_chunk::<HEAD_LEN>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > MAX_CONTENTS {
            return Err(MessageError::Malformed);
        }
        let Some(contents) = rest.get(..length) else {
            return Ok(None);
        };
        let message = M::from_parts(kind, contents).ok_or(MessageError::Malformed)?;
        self.bytes.drain(..HEAD_LEN + length);
        Ok(Some(message))
    }

    /// Removes the greeting. False if more bytes are needed.
    fn take_greeting(&mut self) -> Result<bool, MessageError> {
        let length = self.bytes.len().min(GREETING.len() - 1);
        if self.bytes[..length] != GREETING[..length] {
            return Err(MessageError::NoTerminal);
        }
        match self.bytes.get(GREETING.len() - 1) {
            None => Ok(false),
            Some(&VERSION) => {
                self.bytes.drain(..GREETING.len());
                self.is_greeted = true;
                Ok(true)
            }
            Some(&other) => Err(MessageError::OtherVersion(other)),
        }
    }
}

impl WindowSize {
    /// Returns a size; None if a side is zero, as of a window that does not know its size.
    pub fn new(columns: u16, rows: u16) -> Option<Self> {
        (columns > 0 && rows > 0).then_some(Self { columns, rows })
    }

    fn bytes(window: Option<Self>) -> [u8; 4] {
        let (columns, rows) = window.map_or((0, 0), |window| (window.columns, window.rows));
        let ([a, b], [c, d]) = (columns.to_le_bytes(), rows.to_le_bytes());
        [a, b, c, d]
    }

    fn from_bytes(bytes: &[u8]) -> Option<Option<Self>> {
        let &[a, b, c, d] = bytes else {
            return None;
        };
        let (columns, rows) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        Some(Self::new(columns, rows))
    }
}

impl TerminalMessage for ClientMessage {
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Attach { access, window } => {
                let access = match access {
                    TerminalAccess::ReadOnly => 0,
                    TerminalAccess::Write => 1,
                    TerminalAccess::TakeOver => 2,
                };
                let mut contents = vec![access];
                contents.extend(WindowSize::bytes(*window));
                (b'A', contents)
            }
            Self::DetachAll => (b'L', Vec::new()),
            Self::Input(bytes) => (b'I', bytes.clone()),
            Self::EndOfInput => (b'E', Vec::new()),
            Self::Window(window) => (b'W', WindowSize::bytes(Some(*window)).to_vec()),
            Self::Detach => (b'D', Vec::new()),
            Self::Ping => (b'P', Vec::new()),
        }
    }

    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self> {
        match (kind, contents) {
            (b'A', [access, window @ ..]) => {
                let access = match access {
                    0 => TerminalAccess::ReadOnly,
                    1 => TerminalAccess::Write,
                    2 => TerminalAccess::TakeOver,
                    _ => return None,
                };
                let window = WindowSize::from_bytes(window)?;
                Some(Self::Attach { access, window })
            }
            (b'L', []) => Some(Self::DetachAll),
            (b'I', bytes) => Some(Self::Input(bytes.to_vec())),
            (b'E', []) => Some(Self::EndOfInput),
            (b'W', window) => Some(Self::Window(WindowSize::from_bytes(window)??)),
            (b'D', []) => Some(Self::Detach),
            (b'P', []) => Some(Self::Ping),
            _ => None,
        }
    }
}

impl TerminalMessage for HolderMessage {
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Attached => (b'a', Vec::new()),
            Self::Occupied { since_s } => (b'o', since_s.to_le_bytes().to_vec()),
            Self::Output(bytes) => (b'O', bytes.clone()),
            Self::Ended(code) => (b'e', vec![*code]),
            Self::Detached(reason) => {
                let reason = match reason {
                    DetachReason::Own => 0,
                    DetachReason::TakenOver => 1,
                    DetachReason::AllDetached => 2,
                    DetachReason::Stalled => 3,
                };
                (b'd', vec![reason])
            }
            Self::AllDetached(count) => (b'l', count.to_le_bytes().to_vec()),
            Self::Pong => (b'p', Vec::new()),
        }
    }

    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self> {
        match (kind, contents) {
            (b'a', []) => Some(Self::Attached),
            (b'o', since) => {
                let since_s = u64::from_le_bytes(since.try_into().ok()?);
                Some(Self::Occupied { since_s })
            }
            (b'O', bytes) => Some(Self::Output(bytes.to_vec())),
            (b'e', [code]) => Some(Self::Ended(*code)),
            (b'd', [0]) => Some(Self::Detached(DetachReason::Own)),
            (b'd', [1]) => Some(Self::Detached(DetachReason::TakenOver)),
            (b'd', [2]) => Some(Self::Detached(DetachReason::AllDetached)),
            (b'd', [3]) => Some(Self::Detached(DetachReason::Stalled)),
            (b'l', count) => {
                let count = u32::from_le_bytes(count.try_into().ok()?);
                Some(Self::AllDetached(count))
            }
            (b'p', []) => Some(Self::Pong),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
