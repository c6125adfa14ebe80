//! The paths, and the checks of every request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use http_body_util::channel::Channel;
use tollgate_client::types::{
    ErrorResponse, JobDetails, JobExplanation, JobHistory, JobList, ServiceStatus,
};
use tollgate_web::{GuardError, WindowOrigins, WindowSessions};

use super::selection::ShownJobsQuery;
use super::view::{FollowerView, SharedView};
use super::{jobs, status, story, window};

/// The media type of the metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The longest time without a byte in a stream of events.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A refusal, in the form of a service.
pub(super) struct ViewProblem {
    status: StatusCode,
    error: String,
    hint: Option<&'static str>,
}

pub(super) type ViewAnswer<T> = Result<Json<T>, ViewProblem>;

impl ViewProblem {
    /// Returns the answer about a selection that cannot be made.
    pub(super) fn unprocessable(error: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            error: error.into(),
            hint: None,
        }
    }

    fn no_such_job() -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            error: "no such job waits or runs, or is among the last that ended".to_owned(),
            hint: Some("a task of an array is named as in 7_3"),
        }
    }
}

impl IntoResponse for ViewProblem {
    fn into_response(self) -> Response {
        let problem = ErrorResponse {
            error: self.error,
            hint: self.hint.map(str::to_owned),
        };
        (self.status, Json(problem)).into_response()
    }
}

impl From<QueryRejection> for ViewProblem {
    fn from(rejection: QueryRejection) -> Self {
        Self {
            status: rejection.status(),
            error: rejection.body_text(),
            hint: None,
        }
    }
}

/// Returns the router of the paths and the window at an address.
pub(super) fn router(view: SharedView, address: SocketAddr) -> Router {
    let origins = Arc::new(WindowOrigins::new(address, None));
    let sessions = WindowSessions::default();
    // The pages ask without the checks of requests from outside, which they have made themselves.
    let pages = window::pages(paths(view.clone()), address, sessions.clone());
    paths(view)
        .merge(window::entrance(sessions))
        .layer(from_fn_with_state(origins, check))
        .fallback_service(pages)
}

fn paths(view: SharedView) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/metrics", get(metrics))
        .route("/v1/status", get(status))
        .route("/v1/jobs", get(list))
        .route("/v1/jobs/{id}", get(job))
        .route("/v1/jobs/{id}/explain", get(explain))
        .route("/v1/jobs/{id}/history", get(history))
        .route("/v1/events", get(events))
        .route("/v1/{*path}", any(not_here))
        .with_state(view)
}

/// Refuses requests of pages of other origins, and those that would change something.
async fn check(
    State(origins): State<Arc<WindowOrigins>>,
    request: Request,
    next: Next,
) -> Response {
    let refused = |status, error: &str| ViewProblem {
        status,
        error: error.to_owned(),
        hint: None,
    };
    match origins.check(request.headers()) {
        Ok(()) => {}
        Err(GuardError::Host) => {
            let error = "Host: expected the address that the follower prints";
            return refused(StatusCode::MISDIRECTED_REQUEST, error).into_response();
        }
        Err(error @ GuardError::Origin) => {
            return refused(StatusCode::FORBIDDEN, &error.to_string()).into_response();
        }
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let error = "nothing can be changed here: another scheduler runs the jobs";
        let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, error).into_response();
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
        return response;
    }
    next.run(request).await
}

async fn not_here() -> ViewProblem {
    ViewProblem {
        status: StatusCode::NOT_FOUND,
        error: "a follower has no such path: it shows the jobs of another scheduler".to_owned(),
        hint: Some(
            "/metrics, /v1/status, /v1/jobs, /v1/events, and of a job its number, explain and history",
        ),
    }
}

fn known(view: &SharedView) -> Result<Arc<FollowerView>, ViewProblem> {
    view.view().ok_or_else(|| ViewProblem {
        status: StatusCode::SERVICE_UNAVAILABLE,
        error: "the first look at the queue is not over".to_owned(),
        hint: None,
    })
}

async fn healthz(State(view): State<SharedView>) -> (StatusCode, &'static str) {
    match view.is_answering() {
        true => (StatusCode::OK, "ok\n"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the scheduler does not answer\n",
        ),
    }
}

/// Streams an event after each look.
async fn events(State(view): State<SharedView>) -> Response {
    let mut looks = view.looks();
    let (mut to, body) = Channel::<Bytes, Infallible>::new(1);
    tokio::spawn(async move {
        loop {
            let event = match tokio::time::timeout(HEARTBEAT, looks.changed()).await {
                Ok(Ok(())) => {
                    let nth = *looks.borrow_and_update();
                    format!("id: {nth}\nevent: look\ndata: {{\"look\":{nth}}}\n\n")
                }
                // A client that is gone is noticed.
                Err(_) => ":\n\n".to_owned(),
                Ok(Err(_)) => return,
            };
            if to.send_data(Bytes::from(event)).await.is_err() {
                return;
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::new(body)).into_response()
}

async fn metrics(State(view): State<SharedView>) -> Result<Response, ViewProblem> {
    let text = known(&view)?.metrics.clone();
    Ok(([(header::CONTENT_TYPE, METRICS)], text).into_response())
}

async fn status(State(view): State<SharedView>) -> ViewAnswer<ServiceStatus> {
    Ok(Json(status::of(&*known(&view)?)))
}

async fn list(
    State(view): State<SharedView>,
    query: Result<Query<ShownJobsQuery>, QueryRejection>,
) -> ViewAnswer<JobList> {
    let Query(query) = query?;
    Ok(Json(query.checked()?.jobs(&*known(&view)?)))
}

async fn job(State(view): State<SharedView>, Path(id): Path<String>) -> ViewAnswer<JobDetails> {
    let view = known(&view)?;
    let job = jobs::find(&view, &id).ok_or_else(ViewProblem::no_such_job)?;
    Ok(Json(job.details()))
}

async fn explain(
    State(view): State<SharedView>,
    Path(id): Path<String>,
) -> ViewAnswer<JobExplanation> {
    let view = known(&view)?;
    let job = jobs::find(&view, &id).ok_or_else(ViewProblem::no_such_job)?;
    Ok(Json(story::explanation(&view, &job)))
}

async fn history(State(view): State<SharedView>, Path(id): Path<String>) -> ViewAnswer<JobHistory> {
    let view = known(&view)?;
    let job = jobs::find(&view, &id).ok_or_else(ViewProblem::no_such_job)?;
    Ok(Json(story::history(&view, &job)))
}
