//! The paths of the window.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Json, Router};
use serde::{Deserialize, Serialize};
use tollgate_client::{Fingerprint, ServiceForwarder};

use crate::forwarding::{self, problem};
use crate::guard::{self, WindowOrigins};
use crate::pages;
use crate::sessions::WindowSessions;
use crate::templates;
use crate::user_host::UserHost;

const SCRIPT: &str = include_str!("../assets/window.js");
const STYLE: &str = include_str!("../assets/style.css");
const ICON: &str = include_str!("../assets/icon.svg");

/// The parts of a window.
pub struct WindowSettings {
    /// The service that the window shows.
    pub service: ServiceForwarder,
    /// The tickets and sessions.
    pub sessions: WindowSessions,
    /// The origins under which browsers know the window.
    pub origins: WindowOrigins,
    /// The host of the user.
    pub host: Arc<dyn UserHost>,
    /// Whether nothing can be submitted or changed.
    pub read_only: bool,
}

/// The window, for all requests.
#[derive(Clone)]
pub(crate) struct WindowState(Arc<WindowSettings>);

impl std::ops::Deref for WindowState {
    type Target = WindowSettings;

    fn deref(&self) -> &WindowSettings {
        &self.0
    }
}

/// Returns the router of a window. The shell of a page and what it is drawn with are open to all; everything else
/// needs a session.
pub fn window_router(settings: WindowSettings) -> Router {
    let window = WindowState(Arc::new(settings));
    let behind_session = Router::new()
        .route("/v1/{*path}", any(forwarding::forward))
        .route("/ui/session/end", post(end_session))
        .merge(pages::routes())
        .layer(from_fn_with_state(window.clone(), require_session));
    let mut open = Router::new()
        .route("/ui/session", post(open_session))
        .route(
            "/ui/window.js",
            get(|| asset("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route(
            "/ui/style.css",
            get(|| asset("text/css; charset=utf-8", STYLE)),
        )
        .route("/ui/icon.svg", get(|| asset("image/svg+xml", ICON)));
    for name in ["", "now", "jobs", "job", "submit", "how-well", "machine"] {
        open = open.route(&format!("/{name}"), get(shell));
    }
    behind_session
        .merge(open)
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "the window has no such page", None) })
        .layer(from_fn_with_state(window.clone(), check_request))
        .with_state(window)
}

/// Checks where a request comes from, and adds the headers of every answer.
async fn check_request(
    State(window): State<WindowState>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match window.origins.check(request.headers()) {
        Ok(()) if window.read_only && !is_harmless(&request) => {
            let error = "this window changes nothing: it was opened with --read-only";
            problem(StatusCode::FORBIDDEN, error, None)
        }
        Ok(()) => next.run(request).await,
        Err(error) => problem(error.status(), &error.to_string(), None),
    };
    guard::add_headers(response.headers_mut());
    response
}

/// Returns whether a request is allowed where nothing may be changed.
fn is_harmless(request: &Request) -> bool {
    let is_session = request.uri().path().starts_with("/ui/session");
    matches!(*request.method(), Method::GET | Method::HEAD) || is_session
}

async fn require_session(
    State(window): State<WindowState>,
    mut request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    let secret = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match secret.and_then(|secret| window.sessions.find(secret)) {
        Some(session) => {
            request.extensions_mut().insert(session);
            next.run(request).await
        }
        None => {
            let hint = "open another link of `tollgate open`";
            problem(
                StatusCode::UNAUTHORIZED,
                "no session, or one that has ended",
                Some(hint),
            )
        }
    }
}

/// A ticket to trade for a session.
#[derive(Deserialize)]
struct TicketRequest {
    ticket: String,
}

/// A new session.
#[derive(Serialize)]
struct SessionResponse {
    session: String,
}

async fn open_session(
    State(window): State<WindowState>,
    Json(request): Json<TicketRequest>,
) -> Response {
    match window.sessions.open(&request.ticket) {
        Ok(Some(session)) => Json(SessionResponse {
            session: session.reveal().to_owned(),
        })
        .into_response(),
        Ok(None) => {
            let error = "this link was used before, or is older than a minute";
            let hint = "press Enter where `tollgate open` runs: it prints another link";
            problem(StatusCode::FORBIDDEN, error, Some(hint))
        }
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string(), None),
    }
}

async fn end_session(
    State(window): State<WindowState>,
    Extension(session): Extension<Fingerprint>,
) -> StatusCode {
    window.sessions.end(session);
    StatusCode::NO_CONTENT
}

async fn shell(State(window): State<WindowState>) -> Response {
    let html = templates::shell(window.read_only);
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    // The names of these files are the same in each version.
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        text,
    )
        .into_response()
}
