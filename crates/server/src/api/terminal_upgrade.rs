//! The handler that connects a client to the terminal of the service's session.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use rustix::process::geteuid;
use tokio::io::copy_bidirectional;
use tokio::net::UnixStream;
use tollgate_client::TERMINAL_PROTOCOL;
use tollgate_client::types::AccessRole;

use super::error::ApiError;
use super::state::ApiState;
use super::worker_upgrade::is_still_authorised;
use crate::access::Peer;

/// Time between two checks whether the token of a connection is still valid.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Upgrades the request to a connection to the terminal. The shell there runs as the service's own
/// user, so no other user may attach; a worker's token is rejected before.
pub(super) async fn attach(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
) -> Result<Response, ApiError> {
    let protocol = request.headers().get(UPGRADE);
    if protocol != Some(&HeaderValue::from_static(TERMINAL_PROTOCOL)) {
        let error = format!("expected a terminal: `upgrade: {TERMINAL_PROTOCOL}`");
        return Err(ApiError::new(StatusCode::UPGRADE_REQUIRED, error));
    }
    if peer.role != AccessRole::User || peer.user != geteuid().as_raw() {
        let error = "only the user of the session may attach to its terminal";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let Ok(mut terminal) = UnixStream::connect(&service.terminal).await else {
        let error = "no session: this service has no terminal";
        return Err(ApiError::new(StatusCode::NOT_FOUND, error)
            .hint("`tollgate session start` on the service's host starts a session"));
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(stream) = upgrade.await else {
            return;
        };
        let mut stream = TokioIo::new(stream);
        let revoked = async {
            while is_still_authorised(&service, &peer) {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::select! {
            // Either end may close the connection at any time.
            _ = copy_bidirectional(&mut stream, &mut terminal) => {}
            () = revoked => {}
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(TERMINAL_PROTOCOL));
    Ok(response)
}
