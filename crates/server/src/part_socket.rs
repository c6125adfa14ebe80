//! The socket on which processes of jobs ask for parts of their attempts on other hosts: one connection
//! a request, one JSON value a line. The kernel says which user a process belongs to.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tollgate_engine::{PartEvent, PartRequest};
use tollgate_workers::parts::PartSink;

use crate::os_users;
use crate::permits::KeyedSemaphore;

/// Maximum length of a request, in bytes.
const MAX_REQUEST_BYTES: u64 = 64 << 10;
/// Maximum time from a connection to its request, and for the reading of an event.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections of one user: one for each host of each wide job that spreads.
const MAX_CONNECTIONS: u32 = 4_096;
/// Maximum number of unread events of a request, which has two at most.
const MAX_EVENTS: usize = 4;
/// Wait after an error of accepting a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A request that was received.
#[derive(Debug)]
pub struct ReceivedPartRequest {
    /// Name of the user whose process asks.
    pub user: String,
    /// The request.
    pub request: PartRequest,
    /// Takes the events for the process. Closed when the process is gone.
    pub events: Sender<PartEvent>,
}

/// The sender of events to a process on this host.
pub(crate) struct ChannelPartSink(pub(crate) Sender<PartEvent>);

impl PartSink for ChannelPartSink {
    fn send(&mut self, event: PartEvent) {
        // A process that reads nothing misses no event, because there are no more than have room.
        let _ = self.0.try_send(event);
    }
}

/// Listens on `path`, for every user of the host or only for this process's own.
///
/// # Errors
/// If the socket cannot be created.
pub fn bind(path: &Path, for_all_users: bool) -> io::Result<std::os::unix::net::UnixListener> {
    // The directory is locked, so the process that left this socket behind is gone.
    let _ = fs::remove_file(path);
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    let mode = match for_all_users {
        true => 0o666,
        false => 0o600,
    };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Accepts requests and passes them to `to`, for as long as that channel is open.
///
/// # Errors
/// If the socket cannot be waited for.
pub async fn serve(
    listener: std::os::unix::net::UnixListener,
    to: Sender<ReceivedPartRequest>,
) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let permits = KeyedSemaphore::new(MAX_CONNECTIONS);
    while !to.is_closed() {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(user) = stream.peer_cred().map(|peer| peer.uid()) else {
            continue;
        };
        let Some(permit) = permits.try_acquire(user) else {
            tracing::warn!(user, "request for a part refused: this user has too many");
            continue;
        };
        let to = to.clone();
        tokio::spawn(async move {
            // The process on the other end notices the end of the connection.
            let _ = serve_connection(stream, user, to).await;
            drop(permit);
        });
    }
    Ok(())
}

async fn serve_connection(
    stream: UnixStream,
    user: u32,
    to: Sender<ReceivedPartRequest>,
) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = Vec::new();
    let mut read = BufReader::new(read.take(MAX_REQUEST_BYTES));
    tokio::time::timeout(TIMEOUT, read.read_until(b'\n', &mut line)).await??;
    let (sender, mut events) = mpsc::channel(MAX_EVENTS);
    // Blocks only this connection on the system's name service.
    let user = tokio::task::spawn_blocking(move || os_users::name(user)).await?;
    match (serde_json::from_slice::<PartRequest>(&line), user) {
        (Ok(request), Ok(user)) => {
            let received = ReceivedPartRequest {
                user,
                request,
                events: sender,
            };
            to.send(received)
                .await
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        (Err(error), _) => refuse(&sender, &error),
        (_, Err(error)) => refuse(&sender, &error),
    }
    forward(&mut events, &mut read, &mut write).await
}

fn refuse(sender: &Sender<PartEvent>, why: &dyn std::fmt::Display) {
    // The channel is new, so it has room.
    let _ = sender.try_send(PartEvent::Refused(why.to_string()));
}

/// Writes events until the last one, or until the process hangs up.
async fn forward(
    events: &mut Receiver<PartEvent>,
    read: &mut (impl AsyncReadExt + Unpin),
    write: &mut (impl AsyncWriteExt + Unpin),
) -> io::Result<()> {
    let mut rest = [0];
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = read.read(&mut rest) => None,
        };
        let Some(event) = event else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        tokio::time::timeout(TIMEOUT, write.write_all(&line)).await??;
        if event.is_last() {
            return Ok(());
        }
    }
}
