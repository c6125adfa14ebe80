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

pub use super::routes::{About, Service, router};
use crate::access::Access;

/// How long what is under way at the end may take.
const LAST_TIME: Duration = Duration::from_secs(5);
/// How long to wait after a connection could not be taken: there may be no file descriptor left.
const BREATH: Duration = Duration::from_millis(50);

/// How many connections each user has.
type Counts = Arc<Mutex<BTreeMap<u32, u32>>>;

/// Serves clients of a Unix socket until `stop` says so.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    access: Access,
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
        let Some(seat) = Seat::take(&counts, user, access.limits.connections) else {
            continue;
        };
        let router = router.clone();
        let stop = stop.clone();
        tokio::spawn(async move {
            // Only this connection waits for the system's name service.
            let admitted = tokio::task::spawn_blocking(move || access.admit(user)).await;
            if let Ok(peer) = admitted {
                let head_time = Duration::from_secs_f64(access.limits.request_s);
                talk(stream, router.layer(Extension(peer)), head_time, stop).await;
            }
            drop(seat);
        });
    }
}

/// Serves one connection; what is under way at the end is finished.
async fn talk(
    stream: UnixStream,
    router: Router,
    head_time: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that breaks off, or talks nonsense, is its own affair.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|&stop| stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(LAST_TIME, connection).await;
}

/// A place among the connections of a user.
struct Seat {
    counts: Counts,
    user: u32,
}

impl Seat {
    /// None if all are taken.
    fn take(counts: &Counts, user: u32, most: u32) -> Option<Self> {
        let mut taken = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(user).or_insert(0);
        if *count >= most {
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
