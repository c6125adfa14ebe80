//! Tokens are made, listed and taken back, by the socket only: what was let in with a token cannot
//! make itself more of them.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_model::Span;

use super::instant::iso;
use super::limits::{MAX_SPAN_S, MIN_SPAN_S};
use super::reply::Refused;
use super::routes::{Answered, Service};
use super::types::{NewToken, Token, TokenRequest, Tokens};
use crate::access::{Peer, Users, Way};
use crate::accounts;
use crate::net::Key;
use crate::net::keyring::{KeyError, Proof};

pub(super) async fn make(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<TokenRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<NewToken>), Refused> {
    let Json(request) = request?;
    by_socket(&peer)?;
    let now = (service.clock)();
    let expires = match request.expires_s {
        Some(secs) if !(MIN_SPAN_S..=MAX_SPAN_S).contains(&secs) => {
            let expected = "seconds, more than 0 and at most a hundred years";
            return Err(Refused::field("expires_s", expected));
        }
        secs => secs.map(|secs| now + Span::from_secs_f64(secs)),
    };
    let done = tokio::task::spawn_blocking(move || {
        let user = stands_for(&service, &peer, request.user.as_deref())?;
        let made = service.keyring.make(user, request.kind, expires, now);
        Ok::<_, Refused>(made?)
    });
    let (secret, key) = done.await.map_err(|_| Refused::stopping())??;
    let made = NewToken {
        token: secret.reveal().to_owned(),
        about: about(&key),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Whom a token is to stand for: users make them for themselves, operators for whom they like, and
/// nobody for somebody whom the service is not for.
fn stands_for(service: &Service, peer: &Peer, named: Option<&str>) -> Result<u32, Refused> {
    let user = match named.map(|name| name.parse::<u32>().map_err(|_| name)) {
        None => peer.user,
        Some(Ok(id)) => id,
        Some(Err(name)) => {
            accounts::by_name(name).map_err(|error| Refused::field("user", &error.to_string()))?
        }
    };
    if user != peer.user && !peer.operator {
        let error = "only root and the service's own user make tokens for others";
        return Err(Refused::new(StatusCode::FORBIDDEN, error));
    }
    let own = rustix::process::geteuid().as_raw();
    if service.access.users == Users::Own && user != own {
        let error = format!("the service is for its own user {own} only");
        return Err(Refused::new(StatusCode::FORBIDDEN, error));
    }
    if service.access.users == Users::All {
        accounts::any(user).map_err(|error| Refused::field("user", &error.to_string()))?;
    }
    Ok(user)
}

pub(super) async fn list(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
) -> Answered<Tokens> {
    by_socket(&peer)?;
    let keys = service.keyring.keys();
    let seen = keys.iter().filter(|key| is_ours(&peer, key));
    let tokens = seen.map(about).collect();
    Ok(Json(Tokens { tokens }))
}

pub(super) async fn revoke(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> Answered<Tokens> {
    by_socket(&peer)?;
    let done = tokio::task::spawn_blocking(move || {
        service.keyring.revoke(&id, |key| is_ours(&peer, key))?;
        let keys = service.keyring.keys();
        let seen = keys.iter().filter(|key| is_ours(&peer, key));
        Ok::<_, Refused>(seen.map(about).collect())
    });
    let tokens = done.await.map_err(|_| Refused::stopping())??;
    Ok(Json(Tokens { tokens }))
}

fn by_socket(peer: &Peer) -> Result<(), Refused> {
    match peer.way {
        Way::Socket => Ok(()),
        Way::Network(_) => Err(Refused::new(
            StatusCode::FORBIDDEN,
            "tokens are created, listed and revoked at the socket of the service only",
        )),
    }
}

fn is_ours(peer: &Peer, key: &Key) -> bool {
    peer.operator || key.user == peer.user
}

fn about(key: &Key) -> Token {
    Token {
        id: key.fingerprint.short(),
        proof: match key.proof {
            Proof::Token => "token",
            Proof::Certificate => "certificate",
        }
        .to_owned(),
        user_id: key.user,
        kind: key.role,
        made_at: key.made.map(iso),
        expires_at: key.expires.map(iso),
        fingerprint: key.fingerprint.to_string(),
    }
}

impl From<KeyError> for Refused {
    fn from(error: KeyError) -> Self {
        let status = match &error {
            KeyError::System(_) => StatusCode::SERVICE_UNAVAILABLE,
            KeyError::TooMany => StatusCode::TOO_MANY_REQUESTS,
            KeyError::Unknown => StatusCode::NOT_FOUND,
            KeyError::Settings => StatusCode::CONFLICT,
        };
        let refused = Self::new(status, error.to_string());
        match error {
            KeyError::TooMany => refused.hint("revoke one with `tollgate token revoke ID`"),
            KeyError::Settings => refused.hint("remove the token from the configuration"),
            KeyError::System(_) | KeyError::Unknown => refused,
        }
    }
}
