//! Requests that go to the service as they are, and the end of streams whose session has ended.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Interval, MissedTickBehavior};
use tollgate_client::types::ErrorResponse;
use tollgate_client::{ClientError, Fingerprint, ForwardedRequest, KEY_HEADER};

use crate::router::SessionWindow;
use crate::sessions::WindowSessions;

/// Maximum size of the body of a request, in bytes: that of the service.
const MAX_BODY: usize = 2 << 20;
/// The interval of the checks whether the session of a stream goes on.
const SESSION_CHECK: Duration = Duration::from_secs(5);
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Passes a request on to the service.
pub(crate) async fn forward(
    Extension(window): Extension<SessionWindow>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large", None);
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let sent = window.client.service.forward(ForwardedRequest {
        method: head.method,
        path,
        body,
        key: text(&head.headers, KEY_HEADER),
        last_event: text(&head.headers, LAST_EVENT.as_str()),
    });
    match sent.await {
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            let mut response = Response::new(Body::new(SessionBody::new(
                body,
                window.sessions,
                window.session,
            )));
            *response.status_mut() = window_status(parts.status);
            if let Some(kind) = parts.headers.get(header::CONTENT_TYPE) {
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, kind.clone());
            }
            response
        }
        Err(error) => client_problem(&error),
    }
}

/// Returns an error of the service, or of the way to it, as the API has errors.
pub(crate) fn client_problem(error: &ClientError) -> Response {
    if let ClientError::Refused {
        status,
        problem: found,
    } = error
    {
        let hint = window_hint(*status).or(found.hint.as_deref());
        return problem(window_status(*status), &found.error, hint);
    }
    problem(StatusCode::BAD_GATEWAY, &error.to_string(), None)
}

/// Returns the status with which the window answers where the service answered with this one. To a browser, 401 means
/// that the window knows no such session, which another link repairs. A token that the service refuses is no such case.
pub(crate) fn window_status(status: StatusCode) -> StatusCode {
    match status {
        StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
        other => other,
    }
}

/// Returns the next thing to try after a status of the service, if that is not the same as in a terminal.
pub(crate) fn window_hint(status: StatusCode) -> Option<&'static str> {
    let is_refused = status == StatusCode::UNAUTHORIZED;
    is_refused.then_some("start `tollgate open` again, with a token that is valid")
}

/// Returns an error as the API has errors.
pub(crate) fn problem(status: StatusCode, error: &str, hint: Option<&str>) -> Response {
    let body = ErrorResponse {
        error: error.to_owned(),
        hint: hint.map(str::to_owned),
    };
    (status, Json(body)).into_response()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// A body of the service that ends with the session that asked for it.
struct SessionBody {
    inner: Incoming,
    sessions: WindowSessions,
    session: Fingerprint,
    check: Interval,
}

impl SessionBody {
    fn new(inner: Incoming, sessions: WindowSessions, session: Fingerprint) -> Self {
        let mut check = tokio::time::interval(SESSION_CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            inner,
            sessions,
            session,
            check,
        }
    }
}

impl HttpBody for SessionBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        while self.check.poll_tick(context).is_ready() {
            if !self.sessions.is_open(self.session) {
                return Poll::Ready(None);
            }
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        // The session may end before the body does.
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_that_the_service_refuses_is_no_missing_session() {
        assert_eq!(
            window_status(StatusCode::UNAUTHORIZED),
            StatusCode::FORBIDDEN
        );
        assert!(window_hint(StatusCode::UNAUTHORIZED).is_some());
        assert_eq!(window_status(StatusCode::NOT_FOUND), StatusCode::NOT_FOUND);
        assert_eq!(window_hint(StatusCode::NOT_FOUND), None);
    }
}
