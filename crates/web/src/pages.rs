//! The parts of pages, each with what the service is asked for.
//!
//! | module | page |
//! |---|---|
//! | `now` | promises, the nodes over time, what starts next |
//! | `queue` | what runs and starts next in the queue of another scheduler |
//! | `jobs` | the list of jobs |
//! | `job` | one job, and what its user can do with it |
//! | `alter` | changes of a job that its user types |
//! | `grant` | exceptions from the shares of users |
//! | `submit` | the form, quotes and submissions |
//! | `how_well` | promises against what was kept, the books, the ledger |
//! | `machine` | hosts, workers and devices |
//!
//! Every page has a view: a type that is made from answers of the service without I/O, and rendered by a template.

pub mod alter;
pub(crate) mod grant;
pub mod how_well;
pub mod job;
pub mod jobs;
pub mod machine;
pub mod now;
pub mod queue;
pub mod submit;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tollgate_client::ClientError;

use crate::forwarding::{client_problem, window_hint, window_status};
use crate::router::WindowState;

/// The header with the time zone of the browser, as in `Europe/Berlin`.
const ZONE_HEADER: &str = "tollgate-zone";

/// Returns the paths of the pages. All of them need a session.
pub(crate) fn routes() -> Router<WindowState> {
    Router::new()
        .route("/ui/page/now", get(now::page))
        .route("/ui/page/jobs", get(jobs::page))
        .route("/ui/page/job", get(job::page))
        .route("/ui/page/submit", get(submit::page))
        .route("/ui/page/how-well", get(how_well::page))
        .route("/ui/page/machine", get(machine::page))
        .route("/ui/quote", post(submit::quote))
        .route("/ui/reserve", post(submit::reserve))
        .route("/ui/submit", post(submit::submit))
        .route("/ui/jobs/{id}/{action}", post(job::act))
        .route("/ui/alter/{id}", post(alter::alter))
        .route("/ui/grant/{id}", post(grant::grant))
        .route("/ui/hosts/{action}", post(machine::act))
}

/// An error of a page.
pub(crate) enum PageError {
    /// The service refused the request, or did not answer.
    Client(ClientError),
    /// The user asked for something that is not there: a message.
    Unknown(String),
}

impl From<ClientError> for PageError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// A refusal is shown in the place of the page. A service that does not answer leaves the page as it was.
impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message, hint) = match self {
            Self::Client(ClientError::Refused { status, problem }) => {
                let hint = window_hint(status).map(str::to_owned);
                (window_status(status), problem.error, hint.or(problem.hint))
            }
            Self::Client(other) => return client_problem(&other),
            Self::Unknown(message) => (StatusCode::NOT_FOUND, message, None),
        };
        let html = refusal(&message, hint.as_deref());
        (status, [(header::CONTENT_TYPE, HTML)], html).into_response()
    }
}

/// The confirmation of a button.
#[derive(serde::Serialize)]
struct ActionDone {
    /// A sentence.
    done: String,
}

const HTML: &str = "text/html; charset=utf-8";

/// The rendered part of a page.
pub(crate) struct PagePart(pub(crate) String);

impl IntoResponse for PagePart {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, HTML)], self.0).into_response()
    }
}

/// Returns the part of a page that says why there is none.
fn refusal(message: &str, hint: Option<&str>) -> String {
    #[derive(serde::Serialize)]
    struct Refusal<'a> {
        message: &'a str,
        hint: Option<&'a str>,
    }
    crate::templates::render("refusal", &Refusal { message, hint })
}

/// Returns the time zone of the browser; UTC if it names none that is known here.
fn zone(headers: &axum::http::HeaderMap) -> TimeZone {
    let name = headers.get(ZONE_HEADER).and_then(|name| name.to_str().ok());
    name.and_then(|name| TimeZone::get(name).ok())
        .unwrap_or(TimeZone::UTC)
}

/// Returns the present time in the zone of the browser.
fn now_in(headers: &axum::http::HeaderMap) -> Zoned {
    Timestamp::now().to_zoned(zone(headers))
}
