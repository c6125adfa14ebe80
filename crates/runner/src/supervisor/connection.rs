//! The connection to the service.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tollgate_model::AttemptReport;

use crate::guard::LaunchGuard;
use crate::protocol::{self, RunnerMessage};

/// The maximum time for which a service may leave messages unread. Then the connection is closed,
/// and the next connection receives all messages again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time for which a report waits that nothing waits for: several reports share a message,
/// and what the service does to store them.
const REPORT_DELAY: Duration = Duration::from_millis(10);

/// The connection to the service, at most one at a time: a new connection replaces the one before.
#[derive(Default)]
pub(crate) struct EngineConnection {
    connection: u64,
    stream: Option<UnixStream>,
    outbox: Vec<u8>,
    /// When the outbox is sent at the latest; None if it is empty.
    due: Option<Instant>,
    /// The launch guard of this runner, which is sent to each service.
    pub(crate) guard: Option<LaunchGuard>,
}

impl EngineConnection {
    /// Replaces the connection, and returns the number of the new one.
    pub(crate) fn replace(&mut self, stream: UnixStream) -> u64 {
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
            guard: self.guard.clone(),
            reads_outputs: true,
            keeps_order: true,
            has_streams_and_signals: true,
            suspends: true,
            measures_load: true,
        });
        self.connection
    }

    /// Returns whether this is the current connection.
    pub(crate) const fn is_current(&self, connection: u64) -> bool {
        self.stream.is_some() && self.connection == connection
    }

    pub(crate) const fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns whether a service has connected since this runner started.
    pub(crate) const fn was_ever_connected(&self) -> bool {
        self.connection > 0
    }

    /// Queues a message to the service, if one is connected, until the next flush.
    pub(crate) fn send(&mut self, word: &RunnerMessage) {
        self.queue(word, Duration::ZERO);
    }

    pub(crate) fn report(&mut self, report: AttemptReport) {
        self.send(&RunnerMessage::Report(report));
    }

    /// Queues a report that nothing waits for.
    pub(crate) fn report_later(&mut self, report: AttemptReport) {
        self.queue(&RunnerMessage::Report(report), REPORT_DELAY);
    }

    fn queue(&mut self, word: &RunnerMessage, delay: Duration) {
        if self.stream.is_some() {
            self.outbox.extend(protocol::encode_line(word));
            let due = Instant::now() + delay;
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// Returns the time of the next flush, if a message is queued.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends the queued messages, if one of them is due.
    pub(crate) fn flush_due(&mut self) {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        self.due = None;
        let Some(stream) = &mut self.stream else {
            return;
        };
        if let Err(error) = stream.write_all(&self.outbox) {
            tracing::info!(%error, "the service is gone");
            self.disconnect();
        }
        self.outbox.clear();
    }

    /// Closes the connection, if there is one; its reading thread ends.
    pub(crate) fn disconnect(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.outbox.clear();
        self.due = None;
    }
}
