//! The router of all paths, and the limits of requests.

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::endpoints;
use super::error::ApiError;
use super::repeat::RequestKey;
use super::state::ApiState;
use crate::access::ServiceLimits;

/// Returns the router with every path.
pub fn router(service: ApiState) -> Router {
    let paths = endpoints::all().into_iter();
    let routes = paths.fold(Router::new(), |routes, endpoint| {
        routes.route(endpoint.path, endpoint.router)
    });
    routes
        .fallback(not_found)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(service.access.limits, buffer_body))
        .with_state(service)
}

/// Reads the whole request body before the handler runs, so that a slow or oversized request does
/// not keep a handler busy.
pub(crate) async fn buffer_body(
    State(limits): State<ServiceLimits>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut head, body) = request.into_parts();
    let time = Duration::from_secs_f64(limits.request_s);
    let whole = Limited::new(body, limits.body_bytes).collect();
    let body = match tokio::time::timeout(time, whole).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let error = format!("expected a request of at most {} bytes", limits.body_bytes);
            let hint = "the setting `limits.body_bytes` allows more";
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error).hint(hint));
        }
        Ok(Err(error)) => {
            let error = format!("the request broke off: {error}");
            return Err(ApiError::new(StatusCode::BAD_REQUEST, error));
        }
        Err(_) => {
            let error = "the request took too long to come in";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, error));
        }
    };
    if let Some(key) = RequestKey::of(&head, &body)? {
        head.extensions.insert(key);
    }
    Ok(next.run(Request::from_parts(head, body.into())).await)
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}
