//! Checks that every request over TCP must pass before a handler sees it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tollgate_client::Fingerprint;
use tollgate_client::types::AccessRole;
use tollgate_model::Instant;

use super::connection::{AuthError, ConnectionInfo};
use super::credentials::ProofType;
use super::host_check::{HostCheckError, RequestTransport};
use super::{AllowedHosts, Credential, CredentialStore};
use crate::access::AccessRules;
use crate::api::error::ApiError;
use crate::permits::KeyedSemaphore;

/// The only path that needs no authentication: the health check.
const HEALTH_PATH: &str = "/healthz";
/// The prefix of the paths that are open to the worker role.
const WORKER_PATH: &str = crate::workers::transport::PATH;

/// Shared state of the request checks.
#[derive(Clone)]
pub(crate) struct AuthLayer {
    pub(crate) access: AccessRules,
    pub(crate) hosts: Arc<AllowedHosts>,
    pub(crate) credentials: Arc<CredentialStore>,
    /// Connections of each user, including those of the Unix socket, without those of workers.
    pub(crate) permits: KeyedSemaphore<u32>,
    /// Connections of each user's workers.
    pub(crate) worker_permits: KeyedSemaphore<u32>,
    pub(crate) clock: fn() -> Instant,
}

/// Passes on an authenticated request, with its `Peer` as an extension.
pub(crate) async fn authenticate(
    State(guard): State<AuthLayer>,
    Extension(caller): Extension<Arc<ConnectionInfo>>,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = guard.hosts.check(
        request.uri(),
        request.headers(),
        RequestTransport::Tcp(caller.local),
    );
    if let Err(misled) = checked {
        return with_close(reject_host(misled));
    }
    let key = match guard.credential(request.headers(), caller.certificate) {
        Ok(Some(key)) => key,
        // An unauthenticated connection is closed after the response.
        Ok(None) if request.uri().path() == HEALTH_PATH => {
            return with_close(next.run(request).await);
        }
        Ok(None) => return with_close(reject_credential("expected a token or a certificate")),
        Err(()) => {
            return with_close(reject_credential(
                "invalid token: unknown, revoked or expired",
            ));
        }
    };
    let limits = guard.access.limits;
    let (permits, max, what) = match key.role {
        AccessRole::User => (&guard.permits, limits.connections, "connections"),
        AccessRole::Worker => (&guard.worker_permits, limits.workers, "workers"),
    };
    let authenticated = caller.authenticate(&key, guard.access.clone(), permits);
    let peer = match authenticated.await {
        Ok(peer) => peer,
        Err(AuthError::TooMany) => {
            return with_close(ApiError::connection_limit(max, what).into_response());
        }
        Err(error @ AuthError::Account(_)) => {
            return with_close(reject_credential(&format!("invalid credential: {error}")));
        }
        Err(AuthError::Stopping) => return with_close(ApiError::stopping().into_response()),
    };
    if !is_allowed_path(peer.role, request.uri().path()) {
        let error = match peer.role {
            AccessRole::Worker => "this token can only take work",
            AccessRole::User => "this token cannot take work",
        };
        return ApiError::new(StatusCode::FORBIDDEN, error).into_response();
    }
    request.extensions_mut().insert(peer);
    next.run(request).await
}

/// Passes on a request from the Unix socket, unless it names another host or comes from a foreign web page.
/// The socket may be forwarded to a port that browsers reach.
pub(crate) async fn check_socket_request(
    State(hosts): State<Arc<AllowedHosts>>,
    request: Request,
    next: Next,
) -> Response {
    match hosts.check(
        request.uri(),
        request.headers(),
        RequestTransport::UnixSocket,
    ) {
        Ok(()) => next.run(request).await,
        Err(misled) => with_close(reject_host(misled)),
    }
}

impl AuthLayer {
    /// Returns the credential of a request, if any; an error if it is invalid. A token takes
    /// precedence over a certificate.
    fn credential(
        &self,
        headers: &HeaderMap,
        certificate: Option<Fingerprint>,
    ) -> Result<Option<Credential>, ()> {
        let now = (self.clock)();
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let (proof, print) = match (presented.next(), presented.next()) {
            (Some(only), None) => (ProofType::Token, Some(bearer(only).ok_or(())?)),
            (Some(_), Some(_)) => return Err(()),
            (None, _) => (ProofType::Certificate, certificate),
        };
        let Some(print) = print else {
            return Ok(None);
        };
        self.credentials
            .find(proof, &print, now)
            .map(Some)
            .ok_or(())
    }
}

fn bearer(value: &HeaderValue) -> Option<Fingerprint> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
        .then(|| Fingerprint::of(token.as_bytes()))
}

fn is_allowed_path(role: AccessRole, path: &str) -> bool {
    let is_work = path
        .strip_prefix(WORKER_PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match role {
        AccessRole::Worker => is_work || path == HEALTH_PATH,
        AccessRole::User => !is_work,
    }
}

fn reject_host(misled: HostCheckError) -> Response {
    let (status, error) = match misled {
        HostCheckError::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "the service does not go by this name",
        ),
        HostCheckError::Origin => (
            StatusCode::FORBIDDEN,
            "pages from elsewhere are not answered",
        ),
    };
    let hint = match misled {
        HostCheckError::Host => "name it under `[listen] hosts` in the settings of the service",
        HostCheckError::Origin => "`[listen] origins` in the settings names exceptions",
    };
    ApiError::new(status, error).hint(hint).into_response()
}

fn reject_credential(error: &str) -> Response {
    let refused = ApiError::new(StatusCode::UNAUTHORIZED, error);
    let mut response = refused
        .hint("`tollgate token new` creates one, on the host of the service")
        .into_response();
    let bearer = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    response
}

/// Closes the connection after this response.
fn with_close(mut response: Response) -> Response {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_token_is_rejected_on_other_paths() {
        for (path, worker, user) in [
            ("/v1/work", true, false),
            ("/v1/work/x", true, false),
            ("/v1/workers", false, true),
            ("/v1/jobs", false, true),
            ("/v1/jobs/../work", false, true),
            ("/healthz", true, true),
            ("/", false, true),
        ] {
            assert_eq!(is_allowed_path(AccessRole::Worker, path), worker, "{path}");
            assert_eq!(is_allowed_path(AccessRole::User, path), user, "{path}");
        }
    }

    #[test]
    fn token_is_read_from_the_bearer_header() {
        let print = |words: &str| bearer(&words.parse().unwrap());
        assert_eq!(print("Bearer abc"), Some(Fingerprint::of(b"abc")));
        assert_eq!(print("bearer  abc "), Some(Fingerprint::of(b"abc")));
        for words in ["", "abc", "Bearer", "Bearer ", "Basic abc"] {
            assert_eq!(print(words), None, "{words:?}");
        }
    }
}
