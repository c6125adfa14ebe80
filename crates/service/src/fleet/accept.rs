//! Where connections of workers come in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

use super::line::{FrameReader, say_all};
use super::post::{ConnectionEvent, ConnectionEventKind, FrameSink};
use super::words::{ServerMessage, WorkerFrame, WorkerMessage};
use crate::keeper::{ControllerHandle, ControllerRequest};
use crate::seats::{KeyedPermit, KeyedSemaphore};

/// The most connections of workers at a time.
const MOST: u32 = 1_024;
/// The most words that a worker leaves unread.
const MOST_UNREAD: usize = 4_096;
/// The longest line that a worker may say, in bytes: some hundred reports.
const LONGEST_LINE: usize = 4 << 20;
/// How long a connection may stay silent: workers say that they are there several times in the
/// longest grace time.
const SILENCE: Duration = super::terms::LONGEST;
/// How long the last words to a worker may take.
const LAST_TIME: Duration = Duration::from_secs(5);

/// Lets connections of workers in, and gives each a number. Clones count the same ones.
#[derive(Clone, Debug)]
pub struct WorkerAcceptor {
    door: ControllerHandle,
    last: Arc<AtomicU64>,
    seats: KeyedSemaphore<()>,
}

impl WorkerAcceptor {
    /// Before this keeper.
    pub fn new(door: ControllerHandle) -> Self {
        Self {
            door,
            last: Arc::default(),
            seats: KeyedSemaphore::new(MOST),
        }
    }

    /// A place for a connection; none if all are taken.
    pub(crate) fn enter(&self) -> Option<KeyedPermit<()>> {
        self.seats.take(())
    }

    /// Carries words between a worker and the keeper, for as long as one of them wants that and
    /// `may_stay` says so, which is asked with each word.
    pub(crate) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite,
        may_stay: impl Fn() -> bool,
        _seat: KeyedPermit<()>,
    ) {
        let line = self.last.fetch_add(1, Ordering::Relaxed);
        let (read, write) = tokio::io::split(stream);
        let (say, said) = channel(MOST_UNREAD);
        if !self
            .tell(
                line,
                ConnectionEventKind::Opened(Box::new(ChannelSink(say))),
            )
            .await
        {
            return;
        }
        let mut speaking = std::pin::pin!(say_all(write, said));
        let listening = async {
            let mut ear = FrameReader::new(read, LONGEST_LINE, SILENCE);
            while let Some(frame) = ear.hear::<WorkerMessage>().await {
                if !may_stay() || !self.tell(line, ConnectionEventKind::Said(frame)).await {
                    return;
                }
            }
        };
        let is_speaking = tokio::select! {
            () = listening => true,
            _ = &mut speaking => false,
        };
        self.tell(line, ConnectionEventKind::Closed).await;
        if is_speaking {
            // Why it is not wanted, for example.
            let _ = tokio::time::timeout(LAST_TIME, speaking).await;
        }
    }

    /// Whether the connection is still of use. A worker is heard no faster than the keeper listens.
    async fn tell(&self, line: u64, what: ConnectionEventKind) -> bool {
        let (reply, answer) = oneshot::channel();
        let heard = ConnectionEvent { line, what };
        self.door.ask(ControllerRequest::Worker { heard, reply });
        answer.await.unwrap_or(false)
    }
}

/// The keeper's end of a connection.
struct ChannelSink(Sender<WorkerFrame<ServerMessage>>);

impl FrameSink for ChannelSink {
    fn say(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.0.try_send(frame).is_ok()
    }
}
