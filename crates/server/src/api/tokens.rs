//! The handlers that create, list and revoke tokens. They accept only the Unix socket, so that a
//! token cannot be used to create more tokens.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::limits::{MAX_SPAN_S, MIN_SPAN_S};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    AccessRole, CredentialProof, NewToken, TokenInfo, TokenList, TokenRequest,
};
use tollgate_model::Span;

use super::error::ApiError;
use super::state::{ApiState, JsonResult};
use crate::access::{AuthMethod, Peer, UserScope};
use crate::net::Credential;
use crate::net::credentials::{MAX_USES, ProofType, TokenError};
use crate::os_users::{self, UserLookupError};

pub(super) async fn create(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<TokenRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<NewToken>), ApiError> {
    let Json(request) = request?;
    require_socket(&peer)?;
    let now = (service.clock)();
    let expires = match request.expires_s {
        Some(secs) if !(MIN_SPAN_S..=MAX_SPAN_S).contains(&secs) => {
            let expected = "seconds, more than 0 and at most a hundred years";
            return Err(ApiError::field("expires_s", expected));
        }
        secs => secs.map(|secs| now + Span::from_secs_f64(secs)),
    };
    let uses = request.uses;
    if uses.is_some_and(|uses| !(1..=MAX_USES).contains(&uses)) {
        return Err(ApiError::field("uses", "a number from 1 to 10000"));
    }
    if uses.is_some() && request.kind != AccessRole::Worker {
        return Err(ApiError::field("uses", "a token of kind `worker`"));
    }
    let answering = service.clone();
    let done = tokio::task::spawn_blocking(move || {
        let user = token_user(&service, &peer, request.user.as_deref())?;
        let made = service
            .credentials
            .create_token(user, request.kind, (expires, uses), now);
        Ok::<_, ApiError>(made?)
    });
    let (secret, key) = done.await.map_err(|_| ApiError::stopping())??;
    let made = NewToken {
        token: secret.reveal().to_owned(),
        about: token_info(&answering, &key),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Returns the user of a new token. Users create tokens for themselves, operators for any user that
/// the service serves.
fn token_user(service: &ApiState, peer: &Peer, named: Option<&str>) -> Result<u32, ApiError> {
    let unknown = |error: UserLookupError| ApiError::field("user", &error.to_string());
    let uid = match named.map(|name| name.parse::<u32>().map_err(|_| name)) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(name)) => Some(os_users::by_name(name).map_err(unknown)?),
    };
    let accounts = &service.access.accounts;
    let user = match uid {
        None => peer.user,
        // A user without an account is refused below.
        Some(uid) => accounts.user_of(uid).unwrap_or(uid),
    };
    if user != peer.user && !peer.operator {
        let error = "only root and the service's own user make tokens for others";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let own = rustix::process::geteuid().as_raw();
    if service.access.scope == UserScope::Own && user != own {
        let error = format!("the service is for its own user {own} only");
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    if service.access.scope == UserScope::All {
        let uid = accounts.current_uid(user).map_err(unknown)?;
        os_users::any_user(uid).map_err(unknown)?;
    }
    Ok(user)
}

pub(super) async fn list(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<TokenList> {
    require_socket(&peer)?;
    let keys = service.credentials.credentials();
    let seen = keys.iter().filter(|key| may_manage(&peer, key));
    let tokens = seen.map(|key| token_info(&service, key)).collect();
    Ok(Json(TokenList { tokens }))
}

pub(super) async fn revoke(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<TokenList> {
    require_socket(&peer)?;
    let done = tokio::task::spawn_blocking(move || {
        service
            .credentials
            .revoke(&id, |key| may_manage(&peer, key))?;
        let keys = service.credentials.credentials();
        let seen = keys.iter().filter(|key| may_manage(&peer, key));
        Ok::<_, ApiError>(seen.map(|key| token_info(&service, key)).collect())
    });
    let tokens = done.await.map_err(|_| ApiError::stopping())??;
    Ok(Json(TokenList { tokens }))
}

fn require_socket(peer: &Peer) -> Result<(), ApiError> {
    match peer.auth_method {
        AuthMethod::Socket => Ok(()),
        AuthMethod::Network(_) | AuthMethod::Window => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "tokens are created, listed and revoked at the socket of the service only",
        )),
    }
}

fn may_manage(peer: &Peer, key: &Credential) -> bool {
    peer.operator || key.user == peer.user
}

fn token_info(service: &ApiState, key: &Credential) -> TokenInfo {
    TokenInfo {
        id: key.fingerprint.short(),
        proof: match key.proof {
            ProofType::Token => CredentialProof::Token,
            ProofType::Certificate => CredentialProof::Certificate,
        }
        .into(),
        user_id: service.access.accounts.uid_of(key.user),
        kind: key.role.into(),
        made_at: key.made.map(format_iso),
        expires_at: key.expires.map(format_iso),
        uses_left: key.uses_left,
        issued_with: key.issued_with.map(|token| token.short()),
        fingerprint: key.fingerprint.to_string(),
    }
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        let status = match &error {
            TokenError::System(_) => StatusCode::SERVICE_UNAVAILABLE,
            TokenError::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            TokenError::Unknown => StatusCode::NOT_FOUND,
            TokenError::Configured => StatusCode::CONFLICT,
        };
        let refused = Self::new(status, error.to_string());
        match error {
            TokenError::TooMany(_) => refused.hint("revoke one with `tollgate token revoke ID`"),
            TokenError::Configured => refused.hint("remove the token from the configuration"),
            TokenError::System(_) | TokenError::Unknown => refused,
        }
    }
}
