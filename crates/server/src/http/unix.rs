//! The server of the Unix socket: connections and their limits.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONNECTION;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::{Extension, Router};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tracing::Instrument;

use super::connection::{ACCEPT_RETRY_DELAY, SHUTDOWN_TIMEOUT, serve_connection};
use crate::access::AccessRules;
use crate::api::error::ApiError;
use crate::net::AllowedHosts;
use crate::net::authenticate::check_socket_request;
use crate::permits::KeyedSemaphore;

/// Maximum number of connections of a user beyond its limit that get a refusal. Others are closed at once.
const MAX_REFUSALS: u32 = 16;
/// Maximum time for such a client to send its request.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves clients of a Unix socket until `stop` is set. `permits` limits the connections of each
/// user. `hosts` holds the names and web pages that requests may name besides this host's own.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    access: AccessRules,
    hosts: AllowedHosts,
    permits: KeyedSemaphore<u32>,
    mut stop: watch::Receiver<bool>,
) {
    let router = router.layer(from_fn_with_state(Arc::new(hosts), check_socket_request));
    let (gone, here) = watch::channel(());
    let refusals = KeyedSemaphore::new(MAX_REFUSALS);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(user) = stream.peer_cred().map(|peer| peer.uid()) else {
            continue;
        };
        let Some(permit) = permits.try_acquire(user) else {
            tracing::warn!(user, "connection refused: this user has too many");
            if let Some(place) = refusals.try_acquire(user) {
                let (stop, max) = (stop.clone(), access.limits.connections);
                tokio::spawn(async move {
                    serve_connection(stream, refuse_all(max), REFUSAL_TIMEOUT, stop).await;
                    drop(place);
                });
            }
            continue;
        };
        let (router, access) = (router.clone(), access.clone());
        let (stop, here) = (stop.clone(), here.clone());
        let connection = async move {
            // Blocks only this connection on the system's name service.
            let timeout = Duration::from_secs_f64(access.limits.request_s);
            let admitted = tokio::task::spawn_blocking(move || access.peer_of(user)).await;
            if let Ok(peer) = admitted {
                serve_connection(stream, router.layer(Extension(peer)), timeout, stop).await;
            }
            drop((permit, here));
        };
        tokio::spawn(connection.instrument(tracing::info_span!("socket", user)));
    }
    drop(here);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone.closed()).await;
}

/// Returns a router that refuses every request, because its user has `max` other connections.
fn refuse_all(max: u32) -> Router {
    Router::new().fallback(move || async move {
        let refused = ApiError::connection_limit(max, "connections").into_response();
        ([(CONNECTION, "close")], refused)
    })
}
