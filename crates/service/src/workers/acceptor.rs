//! Where connections of workers come in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

use super::codec::{FrameReader, write_frames};
use super::entry::{ConnectionEvent, ConnectionEventKind, FrameSink};
use super::protocol::{ServerMessage, WorkerFrame, WorkerMessage};
use crate::controller::{ControllerHandle, ControllerRequest};
use crate::permits::{KeyedPermit, KeyedSemaphore};

/// The most connections of workers at a time.
const MAX_CONNECTIONS: u32 = 1_024;
/// The most words that a worker leaves unread.
const MAX_UNREAD_FRAMES: usize = 4_096;
/// The longest line that a worker may say, in bytes: some hundred reports.
const MAX_LINE_LEN: usize = 4 << 20;
/// How long a connection may stay silent: workers say that they are there several times in the
/// longest grace time.
const CONNECTION_TIMEOUT: Duration = super::lease::MAX_GRACE;
/// How long the last words to a worker may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Lets connections of workers in, and gives each a number. Clones count the same ones.
#[derive(Clone, Debug)]
pub struct WorkerAcceptor {
    controller: ControllerHandle,
    last_connection: Arc<AtomicU64>,
    permits: KeyedSemaphore<()>,
}

impl WorkerAcceptor {
    /// Before this keeper.
    pub fn new(door: ControllerHandle) -> Self {
        Self {
            controller: door,
            last_connection: Arc::default(),
            permits: KeyedSemaphore::new(MAX_CONNECTIONS),
        }
    }

    /// A place for a connection; none if all are taken.
    pub(crate) fn try_acquire(&self) -> Option<KeyedPermit<()>> {
        self.permits.try_acquire(())
    }

    /// Carries words between a worker and the keeper, for as long as one of them wants that and
    /// `may_stay` says so, which is asked with each word.
    pub(crate) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite,
        may_stay: impl Fn() -> bool,
        _seat: KeyedPermit<()>,
    ) {
        let line = self.last_connection.fetch_add(1, Ordering::Relaxed);
        let (read, write) = tokio::io::split(stream);
        let (say, said) = channel(MAX_UNREAD_FRAMES);
        if !self
            .forward(
                line,
                ConnectionEventKind::Opened(Box::new(ChannelSink(say))),
            )
            .await
        {
            return;
        }
        let mut speaking = std::pin::pin!(write_frames(write, said));
        let listening = async {
            let mut ear = FrameReader::new(read, MAX_LINE_LEN, CONNECTION_TIMEOUT);
            while let Some(frame) = ear.read_frame::<WorkerMessage>().await {
                if !may_stay()
                    || !self
                        .forward(line, ConnectionEventKind::Received(frame))
                        .await
                {
                    return;
                }
            }
        };
        let is_speaking = tokio::select! {
            () = listening => true,
            _ = &mut speaking => false,
        };
        self.forward(line, ConnectionEventKind::Closed).await;
        if is_speaking {
            // Why it is not wanted, for example.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, speaking).await;
        }
    }

    /// Whether the connection is still of use. A worker is heard no faster than the keeper listens.
    async fn forward(&self, line: u64, what: ConnectionEventKind) -> bool {
        let (reply, answer) = oneshot::channel();
        let heard = ConnectionEvent {
            connection: line,
            kind: what,
        };
        self.controller.send(ControllerRequest::Worker {
            event: heard,
            reply,
        });
        answer.await.unwrap_or(false)
    }
}

/// The keeper's end of a connection.
struct ChannelSink(Sender<WorkerFrame<ServerMessage>>);

impl FrameSink for ChannelSink {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.0.try_send(frame).is_ok()
    }
}
