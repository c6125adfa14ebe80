//! Frames on a stream of bytes: one JSON value a line.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::Receiver;
use tollgate_workers::protocol::{self, WorkerFrame};

/// Maximum time that the other end may leave sent frames unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A reader of frames.
pub(super) struct FrameReader<S> {
    stream: BufReader<S>,
    max_line_len: u64,
    timeout: Duration,
}

impl<S: AsyncRead + Unpin> FrameReader<S> {
    /// Creates a reader of lines of at most `longest` bytes, from a peer that sends at least once
    /// in each `silence`.
    pub(super) fn new(stream: S, longest: usize, silence: Duration) -> Self {
        Self {
            stream: BufReader::new(stream),
            max_line_len: longest as u64,
            timeout: silence,
        }
    }

    /// Returns the next frame; None at the end of the stream or if the bytes are no frame.
    pub(super) async fn read_frame<T: DeserializeOwned>(&mut self) -> Option<WorkerFrame<T>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stream).take(self.max_line_len);
        let read = limited.read_until(b'\n', &mut line);
        tokio::time::timeout(self.timeout, read).await.ok()?.ok()?;
        line.ends_with(b"\n")
            .then(|| serde_json::from_slice(&line).ok())?
    }
}

/// Sends the frames of `words` until the channel is closed, then hangs up.
pub(super) async fn write_frames<T: Serialize>(
    mut stream: impl AsyncWrite + Unpin,
    mut words: Receiver<WorkerFrame<T>>,
) -> io::Result<()> {
    while let Some(frame) = words.recv().await {
        let line = protocol::encode_line(&frame);
        let written = tokio::time::timeout(WRITE_TIMEOUT, stream.write_all(&line)).await;
        written.map_err(|_| io::ErrorKind::TimedOut)??;
        if words.is_empty() {
            stream.flush().await?;
        }
    }
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;
    use tokio::sync::mpsc;

    use super::*;
    use tollgate_workers::protocol::WorkerMessage;

    fn run<T>(act: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(act)
    }

    fn heartbeat(seq: u64) -> WorkerFrame<WorkerMessage> {
        let message = WorkerMessage::Beat(7);
        WorkerFrame {
            incarnation: 3,
            seq,
            message,
        }
    }

    #[test]
    fn frames_arrive_in_order() {
        run(async {
            let (ours, theirs) = duplex(64);
            let (sender, receiver) = mpsc::channel(2);
            let mut frames = FrameReader::new(theirs, 1_000, WRITE_TIMEOUT);
            let write = async {
                for seq in 1..=3 {
                    sender.send(heartbeat(seq)).await.unwrap();
                }
                drop(sender);
            };
            let listen = async {
                let mut event = Vec::new();
                while let Some(frame) = frames.read_frame::<WorkerMessage>().await {
                    event.push(frame);
                }
                event
            };
            let (receiver, (), event) = tokio::join!(write_frames(ours, receiver), write, listen);
            receiver.unwrap();
            assert_eq!(event, [heartbeat(1), heartbeat(2), heartbeat(3)]);
        });
    }

    #[test]
    fn invalid_or_long_line_and_silence_end_the_connection() {
        run(async {
            for text in [
                "nonsense\n",
                "{\"epoch\":1}\n",
                "",
                "\"half a line",
                "[[[[[[[[[\n",
            ] {
                let mut frames = FrameReader::new(text.as_bytes(), 1_000, WRITE_TIMEOUT);
                assert_eq!(frames.read_frame::<WorkerMessage>().await, None, "{text}");
            }
            let long = protocol::encode_line(&heartbeat(1));
            let mut frames = FrameReader::new(&*long, long.len() - 1, WRITE_TIMEOUT);
            assert_eq!(frames.read_frame::<WorkerMessage>().await, None);
            let (_silent, theirs) = duplex(64);
            let mut frames = FrameReader::new(theirs, 1_000, WRITE_TIMEOUT);
            assert_eq!(frames.read_frame::<WorkerMessage>().await, None);
        });
    }
}
