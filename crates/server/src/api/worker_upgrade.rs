//! The handler that turns a request into a worker connection.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use tollgate_client::Fingerprint;

use super::error::ApiError;
use super::state::ApiState;
use crate::access::{AuthMethod, Peer};
use crate::net::credentials::{IssueError, ProofType};
use crate::workers::transport::{KEY_HEADER, KEY_ISSUED, PROTOCOL};

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
    let protocol = request.headers().get(UPGRADE);
    if protocol != Some(&HeaderValue::from_static(PROTOCOL)) {
        let error = format!("expected a worker: `upgrade: {PROTOCOL}`");
        return Err(ApiError::new(StatusCode::UPGRADE_REQUIRED, error));
    }
    let (peer, is_keyed) = identify_worker(&service, peer, request.headers()).await?;
    let Some(permit) = service.worker_acceptor.try_acquire() else {
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
        acceptor.serve(TokioIo::new(stream), may_stay, permit).await;
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    if is_keyed {
        headers.insert(KEY_HEADER, HeaderValue::from_static(KEY_ISSUED));
    }
    Ok(response.into_response())
}

/// Returns the worker with the credential that it keeps, and whether that is a key which it got in
/// place of its token just now.
async fn identify_worker(
    service: &ApiState,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<(Peer, bool), ApiError> {
    let AuthMethod::Network(token) = peer.auth_method else {
        return Ok((peer, false));
    };
    let now = (service.clock)();
    let credential = service.credentials.find(ProofType::Token, &token, now);
    if credential.is_none_or(|credential| credential.uses_left.is_none()) {
        return Ok((peer, false));
    }
    let key = headers.get(KEY_HEADER).and_then(|key| key.to_str().ok());
    let key: Option<Fingerprint> = key.and_then(|key| key.parse().ok());
    let Some(key) = key else {
        let error = "this token needs a worker that draws a key of its own";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    };
    let credentials = Arc::clone(&service.credentials);
    let issued = tokio::task::spawn_blocking(move || credentials.issue_key(&token, key, now));
    issued.await.map_err(|_| ApiError::stopping())??;
    let auth_method = AuthMethod::Network(key);
    Ok((
        Peer {
            auth_method,
            ..peer
        },
        true,
    ))
}

impl From<IssueError> for ApiError {
    fn from(error: IssueError) -> Self {
        match &error {
            IssueError::System(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            IssueError::UsedUp => Self::new(StatusCode::FORBIDDEN, error.to_string())
                .hint("`tollgate token new --worker --uses N` creates one for N workers"),
            IssueError::NotIssuing | IssueError::OtherToken => {
                Self::new(StatusCode::FORBIDDEN, error.to_string())
            }
        }
    }
}

/// Returns whether the key of a connection is still valid: it may have been revoked.
pub(super) fn is_still_authorised(service: &ApiState, peer: &Peer) -> bool {
    let AuthMethod::Network(print) = peer.auth_method else {
        return true;
    };
    service.credentials.is_valid(&print, (service.clock)())
}
