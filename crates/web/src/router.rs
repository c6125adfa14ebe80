//! The paths of the window.

use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Json, Router};
use serde::{Deserialize, Serialize};
use tollgate_client::{Fingerprint, ServiceForwarder};
use tollgate_report::page::LOOK;

use crate::forwarding::{self, problem};
use crate::guard::{self, WindowOrigins};
use crate::pages;
use crate::sessions::{WindowSessions, WindowUser};
use crate::templates;
use crate::user_host::UserHost;

const SCRIPT: &str = include_str!("../assets/window.js");
static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{LOOK}{}", include_str!("../assets/style.css")));
const ICON: &str = include_str!("../assets/icon.svg");

/// The parts of a window.
pub struct WindowSettings {
    /// The service that the window shows, as each user has it.
    pub clients: Box<dyn WindowClients>,
    /// The tickets and sessions.
    pub sessions: WindowSessions,
    /// The origins under which browsers know the window.
    pub origins: WindowOrigins,
    /// Whether nothing can be submitted or changed.
    pub read_only: bool,
    /// The program that serves the window.
    pub server: WindowServer,
}

/// The service as a user of a window has it.
pub struct WindowClient {
    /// The service, where requests are those of the user.
    pub service: ServiceForwarder,
    /// The host of the user.
    pub host: Arc<dyn UserHost>,
}

/// The users of a window.
pub trait WindowClients: Send + Sync {
    /// Returns the service as a user has it.
    fn client_of(&self, user: WindowUser) -> Arc<WindowClient>;
}

/// A window of one user: that of the program that serves it.
impl WindowClients for Arc<WindowClient> {
    fn client_of(&self, _: WindowUser) -> Arc<WindowClient> {
        Self::clone(self)
    }
}

/// The program that serves a window: its pages say what to do without a session or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowServer {
    /// `tollgate open`, for its user.
    Open,
    /// The service itself, for its users.
    Service,
    /// `tollgate beside`, for the users of its host: it looks at jobs that another scheduler runs.
    Follower,
}

impl WindowServer {
    /// Returns how a user gets another link.
    pub(crate) const fn next_link(self) -> &'static str {
        match self {
            Self::Open => "press Enter where `tollgate open` runs: it prints another link",
            Self::Service => {
                "`tollgate open --web` prints another link, on the host of the service"
            }
            Self::Follower => "the path /window of this address opens another one",
        }
    }

    /// Returns what a page says while nothing answers at its address.
    pub(crate) const fn gone(self) -> &'static str {
        match self {
            Self::Open => "The program behind this window has ended: start `tollgate open` again.",
            Self::Service => {
                "The service does not answer. This page shows what was known before, and goes on by itself."
            }
            Self::Follower => {
                "The follower behind this window has ended. This page shows what was known before."
            }
        }
    }
}

/// The window as a session has it.
#[derive(Clone)]
pub(crate) struct SessionWindow {
    pub(crate) client: Arc<WindowClient>,
    pub(crate) session: Fingerprint,
    pub(crate) sessions: WindowSessions,
    pub(crate) read_only: bool,
    pub(crate) server: WindowServer,
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
            get(|| asset("text/css; charset=utf-8", &STYLE)),
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
            let error = "this window is read-only: it changes nothing";
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
            request.extensions_mut().insert(SessionWindow {
                client: window.clients.client_of(session.user),
                session: session.print,
                sessions: window.sessions.clone(),
                read_only: window.read_only,
                server: window.server,
            });
            next.run(request).await
        }
        None => {
            let hint = Some(window.server.next_link());
            let error = "no session, or one that has ended";
            problem(StatusCode::UNAUTHORIZED, error, hint)
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
            let hint = Some(window.server.next_link());
            problem(StatusCode::FORBIDDEN, error, hint)
        }
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string(), None),
    }
}

async fn end_session(Extension(window): Extension<SessionWindow>) -> StatusCode {
    window.sessions.end(window.session);
    StatusCode::NO_CONTENT
}

async fn shell(State(window): State<WindowState>) -> Response {
    let html = templates::shell(window.read_only, window.server);
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
