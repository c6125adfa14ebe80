//! The server of the window: browsers at a loopback address, without TLS. Until a request shows a session, its
//! connection is that of a stranger, and another stranger may take its place.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, CONNECTION};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tollgate_listen::{AddressPrefix, ConnectionLimit};
use tracing::Instrument;

use super::connection::{ACCEPT_RETRY_DELAY, SHUTDOWN_TIMEOUT, serve_connection};
use super::users::UserConnections;
use crate::access::ServiceLimits;
use crate::api::error::ApiError;
use crate::api::router::buffer_body;
use crate::net::connection::{MAX_UNAUTHENTICATED, UnauthenticatedPermit};
use crate::permits::{KeyedPermit, KeyedSemaphore};
use crate::window::ServiceWindow;

/// The user of a connection of a browser.
#[derive(Debug)]
enum BrowserUser {
    Stranger {
        _permit: UnauthenticatedPermit,
    },
    User {
        user: u32,
        _permit: KeyedPermit<u32>,
    },
}

/// The limits of browsers that have a session.
#[derive(Clone)]
struct BrowserLimits {
    window: Arc<dyn ServiceWindow>,
    permits: KeyedSemaphore<u32>,
    limits: ServiceLimits,
}

/// Serves browsers until `stop` is set. Their sessions have the service by `connections`.
pub async fn serve_window(
    listener: TcpListener,
    window: Arc<dyn ServiceWindow>,
    connections: UserConnections,
    limits: ServiceLimits,
    mut stop: watch::Receiver<bool>,
) {
    let guard = BrowserLimits {
        permits: KeyedSemaphore::new(limits.connections),
        limits,
        window: Arc::clone(&window),
    };
    let router = window
        .router(Arc::new(connections))
        .layer(from_fn_with_state(limits, buffer_body))
        .layer(from_fn_with_state(guard, count_connection));
    let limit = ConnectionLimit::new(limits.unauthenticated, MAX_UNAUTHENTICATED);
    let timeout = Duration::from_secs_f64(limits.request_s);
    let (gone, here) = watch::channel(());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(permit) = limit.admit(AddressPrefix::from(from.ip()), &stream) else {
            tracing::warn!("connection refused: no file descriptor is left");
            continue;
        };
        // Responses are short, and browsers wait for them.
        let _ = stream.set_nodelay(true);
        let user = BrowserUser::Stranger { _permit: permit };
        let router = router.clone().layer(Extension(Arc::new(Mutex::new(user))));
        let (stop, here) = (stop.clone(), here.clone());
        let connection = async move {
            serve_connection(stream, router, timeout, stop).await;
            drop(here);
        };
        tokio::spawn(connection.instrument(tracing::info_span!("browser", peer = %from)));
    }
    drop(here);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone.closed()).await;
}

/// Counts a connection among those of its user once a request shows a session.
async fn count_connection(
    State(guard): State<BrowserLimits>,
    Extension(browser): Extension<Arc<Mutex<BrowserUser>>>,
    request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    let secret = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if let Some(user) = secret.and_then(|secret| guard.window.user_of(secret))
        && !guard.admit(&browser, user)
    {
        let refused = ApiError::connection_limit(guard.limits.connections, "connections");
        let mut response = refused.into_response();
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
        return response;
    }
    next.run(request).await
}

impl BrowserLimits {
    /// Makes a connection that of a user. Returns false at the limit of the user's connections.
    fn admit(&self, browser: &Mutex<BrowserUser>, user: u32) -> bool {
        let mut known = browser.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*known, BrowserUser::User { user: other, .. } if other == user) {
            return true;
        }
        let Some(permit) = self.permits.try_acquire(user) else {
            return false;
        };
        *known = BrowserUser::User {
            user,
            _permit: permit,
        };
        true
    }
}
