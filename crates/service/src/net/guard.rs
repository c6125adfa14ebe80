//! What every request over TCP must pass before it is looked at.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tollgate_model::Instant;

use super::caller::ConnectionInfo;
use super::hosts::{HostCheckError, RequestTransport};
use super::keyring::ProofType;
use super::{AllowedHosts, Credential, CredentialStore, Fingerprint};
use crate::access::{AccessRole, AccessRules};
use crate::api::ApiError;
use crate::seats::KeyedSemaphore;

/// The one path that is open to everybody: whether anybody is there.
const OPEN: &str = "/healthz";
/// Where those are let in who can only take work, and below it.
const WORK: &str = crate::fleet::route::PATH;

/// What a request is held against.
#[derive(Clone)]
pub(super) struct AuthLayer {
    pub(super) access: AccessRules,
    pub(super) hosts: Arc<AllowedHosts>,
    pub(super) keyring: Arc<CredentialStore>,
    /// Connections of each user, those of the socket among them.
    pub(super) seats: KeyedSemaphore<u32>,
    pub(super) clock: fn() -> Instant,
}

/// Lets a request pass whose sender is known, and says it who that is.
pub(super) async fn pass(
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
        return last(refuse(misled));
    }
    let key = match guard.key(request.headers(), caller.certificate) {
        Ok(Some(key)) => key,
        // Whoever does not say who they are is not kept.
        Ok(None) if request.uri().path() == OPEN => return last(next.run(request).await),
        Ok(None) => return last(unknown("expected a token or a certificate")),
        Err(()) => return last(unknown("invalid token: unknown, revoked or expired")),
    };
    let Some(peer) = caller.sit(&key, guard.access, &guard.seats).await else {
        let most = guard.access.limits.connections;
        let error = format!("connection limit reached: a user may have {most} connections");
        let refused = ApiError::new(StatusCode::TOO_MANY_REQUESTS, error);
        return last(refused.into_response());
    };
    if !may_go(peer.role, request.uri().path()) {
        let error = match peer.role {
            AccessRole::Worker => "this token can only take work",
            AccessRole::User => "this token cannot take work",
        };
        return ApiError::new(StatusCode::FORBIDDEN, error).into_response();
    }
    request.extensions_mut().insert(peer);
    next.run(request).await
}

/// Lets a request pass that came in at the Unix socket, unless it was meant for another host or
/// comes from a web page elsewhere: the socket may be forwarded to a port that browsers reach.
pub(crate) async fn pass_socket(
    State(hosts): State<Arc<AllowedHosts>>,
    request: Request,
    next: Next,
) -> Response {
    match hosts.check(request.uri(), request.headers(), RequestTransport::Socket) {
        Ok(()) => next.run(request).await,
        Err(misled) => last(refuse(misled)),
    }
}

impl AuthLayer {
    /// The key that was shown, if any; an error if it stands for nobody. A token counts before a
    /// certificate.
    fn key(
        &self,
        headers: &HeaderMap,
        certificate: Option<Fingerprint>,
    ) -> Result<Option<Credential>, ()> {
        let now = (self.clock)();
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (proof, print) = match (shown.next(), shown.next()) {
            (Some(only), None) => (ProofType::Token, Some(bearer(only).ok_or(())?)),
            (Some(_), Some(_)) => return Err(()),
            (None, _) => (ProofType::Certificate, certificate),
        };
        let Some(print) = print else {
            return Ok(None);
        };
        self.keyring.find(proof, &print, now).map(Some).ok_or(())
    }
}

fn bearer(value: &HeaderValue) -> Option<Fingerprint> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
        .then(|| Fingerprint::of(token.as_bytes()))
}

fn may_go(role: AccessRole, path: &str) -> bool {
    let is_work = path
        .strip_prefix(WORK)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match role {
        AccessRole::Worker => is_work || path == OPEN,
        AccessRole::User => !is_work,
    }
}

fn refuse(misled: HostCheckError) -> Response {
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
        HostCheckError::Host => "`[listen] hosts` in the settings names more",
        HostCheckError::Origin => "`[listen] origins` in the settings names exceptions",
    };
    ApiError::new(status, error).hint(hint).into_response()
}

fn unknown(error: &'static str) -> Response {
    let refused = ApiError::new(StatusCode::UNAUTHORIZED, error);
    let mut response = refused
        .hint("`tollgate token new` creates one, on the host of the service")
        .into_response();
    let bearer = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    response
}

/// The connection ends with this answer.
fn last(mut response: Response) -> Response {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_only_take_work_goes_nowhere_else() {
        for (path, worker, user) in [
            ("/v1/work", true, false),
            ("/v1/work/x", true, false),
            ("/v1/workers", false, true),
            ("/v1/jobs", false, true),
            ("/v1/jobs/../work", false, true),
            ("/healthz", true, true),
            ("/", false, true),
        ] {
            assert_eq!(may_go(AccessRole::Worker, path), worker, "{path}");
            assert_eq!(may_go(AccessRole::User, path), user, "{path}");
        }
    }

    #[test]
    fn a_token_is_shown_as_bearer() {
        let print = |words: &str| bearer(&words.parse().unwrap());
        assert_eq!(print("Bearer abc"), Some(Fingerprint::of(b"abc")));
        assert_eq!(print("bearer  abc "), Some(Fingerprint::of(b"abc")));
        for words in ["", "abc", "Bearer", "Bearer ", "Basic abc"] {
            assert_eq!(print(words), None, "{words:?}");
        }
    }
}
