//! Errors of requests and their HTTP responses.

use std::fmt;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Limited};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::ErrorResponse;
use tollgate_service::CommandError;
use tollgate_store::StoreError;

use crate::controller::RequestError;

/// Maximum length of an error message, in bytes.
const MAX_ERROR_TEXT_LEN: usize = 4_096;

/// An error response to a request.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    error: String,
    hint: Option<&'static str>,
    /// Whether another try may soon succeed.
    is_passing: bool,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            hint: None,
            is_passing: false,
        }
    }

    /// Returns the error for an invalid field of a request.
    pub(super) fn field(field: &str, expected: &str) -> Self {
        Self::refused_field(field, &format!("expected {expected}"))
    }

    /// Returns the error for a field of a request, with the words of the check that refused it.
    pub(super) fn refused_field(field: &str, why: &str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{field}: {why}"))
    }

    /// Returns the same error of a part of a request.
    pub(super) fn within(self, part: &str) -> Self {
        Self {
            error: format!("{part}: {}", self.error),
            ..self
        }
    }

    /// Returns the error for an unknown job. A job of another user gets the same error, so that the
    /// two cannot be told apart.
    pub(super) fn unknown_job() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such job")
    }

    /// Returns the error for a job that can no longer be changed.
    pub(super) fn job_is_over() -> Self {
        Self::new(StatusCode::CONFLICT, "the job is over")
    }

    /// Returns the error after the controller has stopped. A client may ask the next service again.
    pub(crate) fn stopping() -> Self {
        Self {
            is_passing: true,
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "the service is stopping")
        }
    }

    /// Returns the error before the state is restored, with the `progress`. A client may ask again.
    pub(crate) fn starting(progress: &impl fmt::Display) -> Self {
        let error = format!("the service is starting: {progress}");
        Self {
            is_passing: true,
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
        }
    }

    /// Returns the error for a user that has the maximum number of connections.
    pub(crate) fn connection_limit(max: u32, what: &str) -> Self {
        let error = format!("connection limit reached: a user may have {max} {what}");
        let hint = "each command that waits for a job holds one; the settings `limits.connections` and \
                    `limits.workers` allow more";
        Self::new(StatusCode::TOO_MANY_REQUESTS, error).hint(hint)
    }

    /// Returns the error for a request without a user.
    pub(super) fn unauthenticated() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "expected a token or a certificate",
        )
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Logs errors that matter to an operator as warnings: denied access, exceeded limits and
    /// lasting faults of the service. Other errors concern the client alone.
    fn log(&self) {
        let status = self.status.as_u16();
        let reason = self.error.as_str();
        let is_notable = match self.status {
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_MANY_REQUESTS => true,
            status => status.is_server_error() && !self.is_passing,
        };
        match is_notable {
            true => tracing::warn!(status, reason, "request refused"),
            false => tracing::debug!(status, reason, "request refused"),
        }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(failed: RequestError) -> Self {
        let status = match &failed {
            RequestError::Ignored(CommandError::UnknownJob) => return Self::unknown_job(),
            RequestError::Ignored(CommandError::NoQuote) | RequestError::UnknownWorker(_) => {
                StatusCode::NOT_FOUND
            }
            RequestError::Ignored(
                CommandError::Gate(_)
                | CommandError::NoTask
                | CommandError::NoArray
                | CommandError::LimitOfPromised
                | CommandError::RunningUnalterable
                | CommandError::NotRunning
                | CommandError::NotWaitlisted,
            )
            | RequestError::AnsweredBefore
            | RequestError::NotRunning
            | RequestError::StepLimit
            | RequestError::DependencySucceeded(_)
            | RequestError::DependencyFailed(_) => StatusCode::CONFLICT,
            RequestError::DeadlinePassed(now) => {
                let now = format_iso(*now);
                let expected =
                    format!("an instant that is still to come: by the service's clock it is {now}");
                return Self::field("deadline_at", &expected);
            }
            RequestError::BeginTooLate(most) => {
                let expected = format!("an instant before {}", format_iso(*most));
                return Self::field("begin_at", &expected);
            }
            RequestError::UnknownDependency(_) => StatusCode::UNPROCESSABLE_ENTITY,
            RequestError::JobLimit(_)
            | RequestError::TaskLimit(_)
            | RequestError::StorageLimit(_) => StatusCode::TOO_MANY_REQUESTS,
            RequestError::DiskFull | RequestError::NoJobNumber => StatusCode::INSUFFICIENT_STORAGE,
            RequestError::Store(_) | RequestError::Engine(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self {
            hint: failed.hint(),
            ..Self::new(status, failed.to_string())
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self {
            hint: error.hint(),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let problem = ErrorResponse {
            error: self.error,
            hint: self.hint.map(str::to_owned),
        };
        let mut response = (self.status, Json(problem)).into_response();
        if self.is_passing {
            let soon = HeaderValue::from_static("1");
            response.headers_mut().insert(RETRY_AFTER, soon);
        }
        response
    }
}

/// Returns the response to a request of this `method`, with an error as JSON. The framework's own
/// errors are included: a path that is not UTF-8, a method that the path does not have.
pub(crate) async fn errors_as_json(method: &Method, response: Response) -> Response {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    if !failed || has_own_form(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let allowed = head.headers.remove(ALLOW);
    let body = Limited::new(body, MAX_ERROR_TEXT_LEN).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let words = String::from_utf8_lossy(&body);
    let error = error_text(status, method, allowed.as_ref(), words.trim());
    let mut response = ApiError::new(status, error).into_response();
    let headers = response.headers_mut();
    headers.extend(allowed.map(|allowed| (ALLOW, allowed)));
    response
}

/// Returns whether an error is in JSON already, or a page of the window.
fn has_own_form(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    media.is_some_and(|media| {
        media.starts_with(b"application/json") || media.starts_with(b"text/html")
    })
}

fn error_text(
    status: StatusCode,
    method: &Method,
    allowed: Option<&HeaderValue>,
    words: &str,
) -> String {
    let allowed = allowed.and_then(|allowed| allowed.to_str().ok());
    match (status, allowed) {
        (StatusCode::METHOD_NOT_ALLOWED, Some(allowed)) => {
            let allowed = allowed.replace(',', ", ");
            format!("{method}: expected one of the methods of this path: {allowed}")
        }
        (_, _) if words.is_empty() => status.to_string(),
        (_, _) => words.to_owned(),
    }
}
