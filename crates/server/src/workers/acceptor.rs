//! The acceptor of worker connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tollgate_workers::entry::{ConnectionEvent, ConnectionEventKind, FrameSink};
use tollgate_workers::protocol::{ServerMessage, WorkerFrame, WorkerMessage};

use super::codec::{FrameReader, write_frames};
use crate::controller::{ControllerHandle, ControllerRequest};
use crate::permits::{KeyedPermit, KeyedSemaphore};

/// Maximum number of worker connections at a time.
const MAX_CONNECTIONS: u32 = 1_024;
/// Maximum number of unsent messages to a worker.
const MAX_UNREAD_FRAMES: usize = 4_096;
/// Maximum length of a worker's line, in bytes: several hundred reports.
const MAX_LINE_LEN: usize = 4 << 20;
/// Maximum silence of a connection. Workers send several heartbeats in the longest grace period.
const CONNECTION_TIMEOUT: Duration = tollgate_workers::lease::MAX_GRACE;
/// Time limit for the last messages to a worker.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Accepts worker connections and gives each a number. Clones share the numbering.
#[derive(Clone, Debug)]
pub struct WorkerAcceptor {
    controller: ControllerHandle,
    last_connection: Arc<AtomicU64>,
    permits: KeyedSemaphore<()>,
}

impl WorkerAcceptor {
    /// Creates an acceptor in front of this controller.
    pub fn new(controller_handle: ControllerHandle) -> Self {
        Self {
            controller: controller_handle,
            last_connection: Arc::default(),
            permits: KeyedSemaphore::new(MAX_CONNECTIONS),
        }
    }

    /// Returns a number for a connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.last_connection.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a permit for a connection, or None at the connection limit.
    pub(crate) fn try_acquire(&self) -> Option<KeyedPermit<()>> {
        self.permits.try_acquire(())
    }

    /// Carries messages between a worker and the controller until one of them hangs up or
    /// `may_stay`, which is asked with each message, returns false.
    pub(crate) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite,
        may_stay: impl Fn() -> bool,
        _permit: KeyedPermit<()>,
    ) {
        let line = self.next_connection();
        let (read, write) = tokio::io::split(stream);
        let (sender, message) = channel(MAX_UNREAD_FRAMES);
        if !self
            .forward(
                line,
                ConnectionEventKind::Opened(Box::new(ChannelSink(sender))),
            )
            .await
        {
            return;
        }
        let mut writing = std::pin::pin!(write_frames(write, message));
        let listening = async {
            let mut frames = FrameReader::new(read, MAX_LINE_LEN, CONNECTION_TIMEOUT);
            while let Some(frame) = frames.read_frame::<WorkerMessage>().await {
                if !may_stay()
                    || !self
                        .forward(line, ConnectionEventKind::Received(frame))
                        .await
                {
                    return;
                }
            }
        };
        let is_writing = tokio::select! {
            () = listening => true,
            _ = &mut writing => false,
        };
        self.forward(line, ConnectionEventKind::Closed).await;
        if is_writing {
            // The last messages include the reason for a refusal.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, writing).await;
        }
    }

    /// Passes an event to the controller; false if the connection is to be closed. Waits for the
    /// controller, so a worker cannot send faster than the controller reads.
    async fn forward(&self, line: u64, what: ConnectionEventKind) -> bool {
        let (reply, answer) = oneshot::channel();
        let received = ConnectionEvent {
            connection: line,
            kind: what,
        };
        self.controller.send(ControllerRequest::Worker {
            event: received,
            reply,
        });
        answer.await.unwrap_or(false)
    }
}

/// The controller's end of a connection.
struct ChannelSink(Sender<WorkerFrame<ServerMessage>>);

impl FrameSink for ChannelSink {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.0.try_send(frame).is_ok()
    }
}
