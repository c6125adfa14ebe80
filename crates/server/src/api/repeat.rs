//! Requests that their clients may send again, because they carry a key: each is carried out once, and the
//! same request gets the same answer for a day.

use axum::Json;
use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_KEY;
use tollgate_client::{Fingerprint, KEY_HEADER};
use tollgate_service::CommandResult;
use tollgate_store::StoredAnswer;

use super::error::ApiError;
use super::state::{ApiState, query_store};
use crate::access::Peer;
use crate::controller::{ControllerRequest, KeyedRequest, RequestError};

/// A response with its status.
pub(super) type Answer<A> = (StatusCode, Json<A>);

/// The key of a request, and what tells the request from others.
#[derive(Clone, Debug)]
pub(super) struct RequestKey {
    key: String,
    request: String,
}

impl RequestKey {
    /// Returns the key in the header of a request; None without that header.
    ///
    /// # Errors
    /// If the key is empty, too long, or not of visible characters.
    pub(super) fn of(head: &Parts, body: &Bytes) -> Result<Option<Self>, ApiError> {
        let Some(value) = head.headers.get(KEY_HEADER) else {
            return Ok(None);
        };
        let key = value.to_str().ok().filter(|key| {
            (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
        });
        let expected = format!("1 to {MAX_KEY} visible characters of ASCII");
        let key = key.ok_or_else(|| ApiError::field(KEY_HEADER, &expected))?;
        let line = format!("{} {}\n", head.method, head.uri);
        let request = Fingerprint::of(&[line.as_bytes(), body].concat());
        Ok(Some(Self {
            key: key.to_owned(),
            request: request.to_string(),
        }))
    }
}

/// The key of a request with its user; without a key the request is carried out each time.
#[derive(Clone, Debug)]
pub(super) struct KeyedPeer {
    user: u32,
    key: Option<RequestKey>,
}

impl FromRequestParts<ApiState> for KeyedPeer {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, _: &ApiState) -> Result<Self, ApiError> {
        let peer = head.extensions.get::<Peer>();
        Ok(Self {
            user: peer.ok_or_else(ApiError::unauthenticated)?.user,
            key: head.extensions.get::<RequestKey>().cloned(),
        })
    }
}

impl KeyedPeer {
    /// Returns the request under its key, if it has one. `render` makes the answer of the results of its
    /// commands; it returns None if they changed nothing.
    pub(super) fn wrap<A: Serialize>(
        &self,
        request: ControllerRequest,
        render: impl Fn(&[CommandResult]) -> Option<Answer<A>> + Send + 'static,
    ) -> ControllerRequest {
        let Some(RequestKey {
            key,
            request: print,
        }) = self.key.clone()
        else {
            return request;
        };
        let render = move |results: &[CommandResult]| {
            let (status, Json(answer)) = render(results)?;
            Some(StoredAnswer {
                request: print.clone(),
                status: status.as_u16(),
                body: serde_json::to_vec(&answer).ok()?,
            })
        };
        ControllerRequest::Keyed(Box::new(KeyedRequest {
            user: self.user,
            key,
            request,
            render: Box::new(render),
        }))
    }

    /// Returns the answer that the request got before.
    ///
    /// # Errors
    /// If the key belongs to another request, or another version of this program wrote the answer.
    pub(super) async fn stored<A: DeserializeOwned>(
        self,
        service: &ApiState,
    ) -> Result<Answer<A>, ApiError> {
        let Some(RequestKey { key, request }) = self.key else {
            return Err(ApiError::stopping());
        };
        let found = query_store(service, move |reader| reader.answer(self.user, &key)).await?;
        let answer = found.ok_or_else(ApiError::stopping)?;
        if answer.request != request {
            let expected = "a key of its own: another request was sent with this one";
            return Err(ApiError::field(KEY_HEADER, expected));
        }
        let unreadable = || {
            let error = "the request was carried out, by another version of the service";
            ApiError::new(StatusCode::CONFLICT, error)
        };
        let status = StatusCode::from_u16(answer.status).map_err(|_| unreadable())?;
        let body = serde_json::from_slice(&answer.body).map_err(|_| unreadable())?;
        Ok((status, Json(body)))
    }
}

/// Waits for the reply of the controller. None if the request was carried out before.
pub(super) async fn receive<T>(
    reply: oneshot::Receiver<Result<T, RequestError>>,
) -> Result<Option<T>, ApiError> {
    match reply.await.map_err(|_| ApiError::stopping())? {
        Ok(reply) => Ok(Some(reply)),
        Err(RequestError::AnsweredBefore) => Ok(None),
        Err(failed) => Err(failed.into()),
    }
}
