//! The service that is connected, if one is.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::AttemptReport;
use crate::protocol::{self, RunnerMessage};
use crate::starter::LaunchGuard;

/// How long a service may leave what it is told unread; then it is cut off, and is told everything
/// again when it connects again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// One connection at a time: a new one replaces the one before.
#[derive(Default)]
pub(super) struct EngineConnection {
    connection: u64,
    stream: Option<UnixStream>,
    outbox: Vec<u8>,
    /// What launches are held to: each service is told.
    pub(super) guard: Option<LaunchGuard>,
}

impl EngineConnection {
    /// Talks to a new service from now on; gives the number of the connection.
    pub(super) fn replace(&mut self, stream: UnixStream) -> u64 {
        self.disconnect();
        let timeout = stream.set_write_timeout(Some(WRITE_TIMEOUT));
        if let Err(error) = timeout {
            tracing::warn!(%error, "the service that connected cannot be talked to");
            return self.connection;
        }
        self.connection += 1;
        self.stream = Some(stream);
        self.send(&RunnerMessage::Hello {
            version: protocol::VERSION,
            pid: std::process::id(),
            guard: self.guard,
        });
        self.connection
    }

    /// Whether this is the connection in use.
    pub(super) const fn is_current(&self, connection: u64) -> bool {
        self.stream.is_some() && self.connection == connection
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Whether there was a service since this runner began.
    pub(super) const fn was_ever_connected(&self) -> bool {
        self.connection > 0
    }

    /// Tells the service something, if there is one, when [`EngineConnection::flush`] is called.
    pub(super) fn send(&mut self, word: &RunnerMessage) {
        if self.stream.is_some() {
            self.outbox.extend(protocol::encode_line(word));
        }
    }

    pub(super) fn report(&mut self, report: AttemptReport) {
        self.send(&RunnerMessage::Report(report));
    }

    pub(super) fn flush(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        if let Err(error) = stream.write_all(&self.outbox) {
            tracing::info!(%error, "the service is gone");
            self.disconnect();
        }
        self.outbox.clear();
    }

    /// Ends the connection, if there is one; its reading thread notices.
    pub(super) fn disconnect(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.outbox.clear();
    }
}
