//! Connections whose user is known before their first request: those of the Unix socket, and those within the process.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONNECTION;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::{Extension, Router};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::watch;
use tollgate_client::InProcessService;
use tracing::Instrument;

use super::connection::serve_connection;
use crate::access::{AccessRules, AuthMethod, Peer};
use crate::api::error::ApiError;
use crate::net::AllowedHosts;
use crate::net::authenticate::check_socket_request;
use crate::permits::{KeyedPermit, KeyedSemaphore};
use crate::window::UserServices;

/// Maximum number of connections of a user beyond its limit that get a refusal. Others are closed at once.
const MAX_REFUSALS: u32 = 16;
/// Maximum time for such a client to send its request.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that a connection within the process holds on their way.
const DUPLEX_BYTES: usize = 64 << 10;

/// Serves the connections of known users, a limited number of each user. Clones share the limits.
#[derive(Clone, Debug)]
pub struct UserConnections {
    router: Router,
    access: AccessRules,
    /// Connections of each user, by the user's number on this host.
    permits: KeyedSemaphore<u32>,
    refusals: KeyedSemaphore<u32>,
    stop: watch::Receiver<bool>,
}

/// The place of a connection among those of its user.
enum ConnectionPlace {
    Served(KeyedPermit<u32>),
    Refused(KeyedPermit<u32>),
    Closed,
}

impl UserConnections {
    /// Serves requests with `router` until `stop` is set. `hosts` holds the names and web pages that requests may name
    /// besides this host's own.
    pub fn new(
        router: Router,
        hosts: AllowedHosts,
        access: AccessRules,
        permits: KeyedSemaphore<u32>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            router: router.layer(from_fn_with_state(Arc::new(hosts), check_socket_request)),
            access,
            permits,
            refusals: KeyedSemaphore::new(MAX_REFUSALS),
            stop,
        }
    }

    /// Serves a connection of the user with a number on this host. `find_peer` may wait for the system's name
    /// service. Without a peer the connection is closed.
    pub(super) fn serve<S>(
        &self,
        stream: S,
        uid: u32,
        find_peer: impl FnOnce(&AccessRules) -> Option<Peer> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (place, this) = (self.place(uid), self.clone());
        async move {
            match place {
                ConnectionPlace::Served(permit) => {
                    let (router, stop) = (this.router, this.stop);
                    let timeout = Duration::from_secs_f64(this.access.limits.request_s);
                    // Blocks only this connection on the system's name service.
                    let found = tokio::task::spawn_blocking(move || find_peer(&this.access)).await;
                    if let Ok(Some(peer)) = found {
                        let router = router.layer(Extension(peer));
                        serve_connection(stream, router, timeout, stop).await;
                    }
                    drop(permit);
                }
                ConnectionPlace::Refused(place) => {
                    let router = refuse_all(this.access.limits.connections);
                    serve_connection(stream, router, REFUSAL_TIMEOUT, this.stop).await;
                    drop(place);
                }
                ConnectionPlace::Closed => {}
            }
        }
    }

    fn place(&self, uid: u32) -> ConnectionPlace {
        if let Some(permit) = self.permits.try_acquire(uid) {
            return ConnectionPlace::Served(permit);
        }
        tracing::warn!(user = uid, "connection refused: this user has too many");
        match self.refusals.try_acquire(uid) {
            Some(place) => ConnectionPlace::Refused(place),
            None => ConnectionPlace::Closed,
        }
    }
}

impl UserServices for UserConnections {
    fn within(&self, user: u32) -> Arc<dyn InProcessService> {
        Arc::new(ServiceWithin {
            connections: self.clone(),
            user,
        })
    }

    fn uid_of(&self, user: u32) -> u32 {
        self.access.accounts.uid_of(user)
    }
}

#[derive(Debug)]
struct ServiceWithin {
    connections: UserConnections,
    user: u32,
}

impl InProcessService for ServiceWithin {
    fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(DUPLEX_BYTES);
        let user = self.user;
        let uid = self.connections.uid_of(user);
        let connection = self.connections.serve(ours, uid, move |access| {
            let peer = access.peer_of_user(user).ok()?;
            let auth_method = AuthMethod::Window;
            Some(Peer {
                auth_method,
                ..peer
            })
        });
        tokio::spawn(connection.instrument(tracing::info_span!("window", user = uid)));
        theirs
    }
}

/// Returns a router that refuses every request, because its user has `max` other connections.
fn refuse_all(max: u32) -> Router {
    Router::new().fallback(move || async move {
        let refused = ApiError::connection_limit(max, "connections").into_response();
        ([(CONNECTION, "close")], refused)
    })
}
