//! A terminal of the user's on the shell of a session.

use std::os::unix::net::UnixStream;

use tollgate_terminal::{
    AttachEnd, AttachError, AttachOptions, DetachReason, EndOfInput, TerminalAccess, UserTerminal,
    attach, detach_all,
};

use crate::error::SessionError;
use crate::folder::SessionFolder;

/// How a command on this terminal ended, or left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// The command has ended, with this exit code.
    Ended(u8),
    /// The terminal was detached.
    Detached(DetachReason),
    /// A signal with this number asks this process to end.
    Signal(u8),
}

/// Attaches this terminal to the shell of a session of this host, until it is detached or the shell ends.
///
/// # Errors
/// If the session has no terminal, or another terminal types in it.
pub fn attach_terminal(
    folder: &SessionFolder,
    access: TerminalAccess,
) -> Result<TerminalEnd, SessionError> {
    let socket = folder.terminal();
    let stream = UnixStream::connect(&socket);
    let stream = stream.map_err(|error| SessionError::unreadable(&socket, error))?;
    attach_stream(stream, folder.name(), access)
}

/// Attaches this terminal to the other end of a stream. `name` names the session in messages.
///
/// # Errors
/// If this terminal cannot be used, another terminal types in the session, or the connection is lost.
pub fn attach_stream(
    stream: UnixStream,
    name: &str,
    access: TerminalAccess,
) -> Result<TerminalEnd, SessionError> {
    let process_error = |problem: String| {
        let name = name.to_owned();
        SessionError::Process { name, problem }
    };
    match attach_here(stream, access) {
        Ok(Some(end)) => Ok(end),
        Ok(None) => Err(process_error("the terminal of the session is gone".into())),
        Err(error @ AttachError::Occupied { .. }) => {
            let name = name.to_owned();
            Err(SessionError::Occupied { name, error })
        }
        Err(error @ (AttachError::Message(_) | AttachError::Terminal(_))) => {
            Err(process_error(error.to_string()))
        }
    }
}

/// Attaches this terminal to the other end of a stream. None if the connection is lost.
pub(crate) fn attach_here(
    stream: UnixStream,
    access: TerminalAccess,
) -> Result<Option<TerminalEnd>, AttachError> {
    let options = AttachOptions {
        access,
        end_of_input: EndOfInput::PassOn,
    };
    let terminal = UserTerminal::standard().map_err(AttachError::Terminal)?;
    Ok(match attach(stream, &terminal, &options)? {
        AttachEnd::Ended(code) => Some(TerminalEnd::Ended(code)),
        AttachEnd::Detached(reason) => Some(TerminalEnd::Detached(reason)),
        AttachEnd::Signal(signal) => Some(TerminalEnd::Signal(signal)),
        AttachEnd::Lost => None,
    })
}

/// Detaches all terminals from a session, which goes on. Returns their number.
///
/// # Errors
/// If the session has no terminal.
pub fn detach_terminals(folder: &SessionFolder) -> Result<u32, SessionError> {
    let socket = folder.terminal();
    detach_all(&socket).map_err(|error| SessionError::unreadable(&socket, error))
}
