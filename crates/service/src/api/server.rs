//! Who is let in, and within which limits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

pub use super::routes::{About, Peer, Service, router};

/// How long a client may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// The most connections of one user at a time.
const MOST_CONNECTIONS: u32 = 64;
/// How long to wait after a connection could not be taken: there may be no file descriptor left.
const BREATH: Duration = Duration::from_millis(50);

/// Whom to let do what, by the user at the other end of a Unix socket.
pub type Admit = Arc<dyn Fn(u32) -> Peer + Send + Sync>;

/// How many connections each user has.
type Counts = Arc<Mutex<BTreeMap<u32, u32>>>;

/// Serves clients of a Unix socket until `stop` says so.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    admit: Admit,
    mut stop: watch::Receiver<bool>,
) {
    let counts = Counts::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => return,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let Ok(user) = stream.peer_cred().map(|peer| peer.uid()) else {
            continue;
        };
        let Some(seat) = Seat::take(&counts, user) else {
            continue;
        };
        let router = router.clone().layer(Extension(admit(user)));
        let stop = stop.clone();
        tokio::spawn(async move {
            talk(stream, router, stop).await;
            drop(seat);
        });
    }
}

/// Serves one connection; what is under way at the end is finished.
async fn talk(stream: UnixStream, router: Router, mut stop: watch::Receiver<bool>) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that breaks off, or talks nonsense, is its own affair.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|&stop| stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(HEAD_TIME, connection).await;
}

/// A place among the connections of a user.
struct Seat {
    counts: Counts,
    user: u32,
}

impl Seat {
    /// None if all are taken.
    fn take(counts: &Counts, user: u32) -> Option<Self> {
        let mut taken = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(user).or_insert(0);
        if *count >= MOST_CONNECTIONS {
            return None;
        }
        *count += 1;
        Some(Self {
            counts: Arc::clone(counts),
            user,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.user);
            }
        }
    }
}
