//! The request for a part to the worker or the service of this host.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use tollgate_engine::part::SOCKET_VARIABLE;
use tollgate_engine::{PartEvent, PartRequest};

/// A request whose part may run.
pub(crate) struct OpenRequest(BufReader<UnixStream>);

/// Returns the socket of this host.
///
/// # Errors
/// If the environment names none.
pub(crate) fn socket() -> io::Result<PathBuf> {
    let named = env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
    let missing = || {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("{SOCKET_VARIABLE} is not set"),
        )
    };
    Ok(named.ok_or_else(missing)?.into())
}

impl OpenRequest {
    /// Sends a request.
    pub(crate) fn send(socket: &PathBuf, request: &PartRequest) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Waits for the next event; None if none follows.
    pub(crate) fn next_event(&mut self) -> io::Result<Option<PartEvent>> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        }
    }
}
