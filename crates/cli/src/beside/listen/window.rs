//! The window, whose pages are made from the same paths.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Zoned;
use tollgate_client::types::{JobDetails, JobRequest};
use tollgate_client::{ServiceForwarder, ServiceTarget};
use tollgate_overview::output::{OutputReader, OutputTail, RunHost};
use tollgate_web::{
    RouterService, TypedJob, UserHost, WindowClient, WindowOrigins, WindowServer, WindowSessions,
    WindowSettings, WindowUser, window_router,
};

/// The only user of the window: every user of this host sees the same.
const ANYONE: WindowUser = WindowUser(0);

/// Returns the pages of a window that has what `paths` answer.
pub(super) fn pages(paths: Router, address: SocketAddr, sessions: WindowSessions) -> Router {
    let service = ServiceTarget::InProcess(Arc::new(RouterService::new(paths)));
    window_router(WindowSettings {
        clients: Box::new(Arc::new(WindowClient {
            service: ServiceForwarder::new(service),
            host: Arc::new(NoUserHost),
        })),
        sessions,
        origins: WindowOrigins::new(address, None),
        read_only: true,
        server: WindowServer::Follower,
    })
}

/// Returns the path that opens the window. Its pages need a session, as those of every window. Every user of this host gets
/// one, because the paths answer every user, too.
pub(super) fn entrance(sessions: WindowSessions) -> Router {
    Router::new()
        .route("/window", get(open))
        .with_state(sessions)
}

async fn open(State(sessions): State<WindowSessions>) -> Response {
    match sessions.new_ticket(ANYONE) {
        Ok(ticket) => {
            let page = format!("/#ticket={}", ticket.reveal());
            (StatusCode::SEE_OTHER, [(header::LOCATION, page)]).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The host of a user who submits nothing.
struct NoUserHost;

impl UserHost for NoUserHost {
    fn job_request(&self, _: &TypedJob, _: Zoned) -> Result<JobRequest, String> {
        Err("nothing can be submitted here: another scheduler runs the jobs".to_owned())
    }

    fn dir(&self) -> Option<String> {
        None
    }
}

impl OutputReader for NoUserHost {
    fn output_tail(&self, _: &JobDetails, _: u64, _: RunHost) -> Option<OutputTail> {
        None
    }
}
