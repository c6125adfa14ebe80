//! The handler that turns a request into a worker connection.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;

use super::error::ApiError;
use super::handlers::ApiState;
use crate::access::{AuthMethod, Peer};
use crate::workers::transport::PROTOCOL;

/// Upgrades the request to a worker connection. Only an operator may register a worker, because a
/// worker sees the programs of all users' jobs.
pub(super) async fn register_worker(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
) -> Result<Response, ApiError> {
    if !peer.operator {
        let error = "only workers of the service's own user and of root are taken";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let asked = request.headers().get(UPGRADE);
    if asked != Some(&HeaderValue::from_static(PROTOCOL)) {
        let error = format!("expected a worker: `upgrade: {PROTOCOL}`");
        return Err(ApiError::new(StatusCode::UPGRADE_REQUIRED, error));
    }
    let Some(seat) = service.worker_acceptor.try_acquire() else {
        let error = "there are too many connections of workers";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error));
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let acceptor = service.worker_acceptor.clone();
    tokio::spawn(async move {
        let Ok(stream) = upgrade.await else {
            return;
        };
        let may_stay = || is_still_authorised(&service, &peer);
        acceptor.serve(TokioIo::new(stream), may_stay, seat).await;
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    Ok(response.into_response())
}

/// Returns whether the key of a worker is still valid: it may have been revoked.
fn is_still_authorised(service: &ApiState, peer: &Peer) -> bool {
    let AuthMethod::Network(print) = peer.auth_method else {
        return true;
    };
    service.credentials.is_valid(&print, (service.clock)())
}
