//! The form of a job, its quotes and its submission.

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_client::types::{
    JobDecision, JobForecast, JobOffer, JobRef, JobRequest, OfferChange, ReasonMessage,
    SubmitResponse, UnpredictableRun,
};
use tollgate_client::{ClientError, PathWithQuery};

use super::{PageError, PagePart, now_in};
use crate::router::SessionWindow;
use crate::templates;
use crate::user_host::TypedJob;
use tollgate_overview::job_facts::{ColouredWords, WordTone};
use tollgate_overview::words;

/// The time for which the page reserves the room of a quote, in seconds.
const RESERVED_S: f64 = 60.0;

/// The form.
#[derive(Debug, Serialize)]
struct FormView {
    dir: Option<String>,
    read_only: bool,
}

/// An offer, and what its button fills into the form.
#[derive(Debug, Serialize)]
struct OfferRow {
    change: &'static str,
    at: Option<String>,
    words: String,
    probability: Option<f64>,
    price: Option<f64>,
    fill: String,
}

/// The answer to a quote or a submission.
#[derive(Debug, Serialize)]
struct AnswerView<'a> {
    tag: ColouredWords,
    reasons: &'a [ReasonMessage],
    id: Option<u64>,
    is_submitted: bool,
    is_promised: bool,
    may_reserve: bool,
    deadline_at: Option<&'a str>,
    expected: Option<&'a JobForecast>,
    probability: Option<f64>,
    estimate_s: f64,
    forecast_from: &'a str,
    unpredictable: Option<&'a UnpredictableRun>,
    price: Option<f64>,
    held_until_at: Option<&'a str>,
    decided_by_at: Option<&'a str>,
    fill_quote: Option<String>,
    offers: Vec<OfferRow>,
    surer: Vec<OfferRow>,
}

/// A job that is not understood, or not taken.
#[derive(Debug, Serialize)]
struct ProblemView<'a> {
    problem: &'a str,
    hint: Option<&'a str>,
}

/// The kind of request that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A quote, which changes nothing.
    Quote,
    /// A quote whose room is reserved.
    Reservation,
    /// A job.
    Submission,
}

/// Returns the form.
pub(crate) async fn page(Extension(window): Extension<SessionWindow>) -> PagePart {
    PagePart(render_form(window.client.host.dir(), window.read_only))
}

/// Answers a quote.
pub(crate) async fn quote(
    Extension(window): Extension<SessionWindow>,
    headers: HeaderMap,
    Json(typed): Json<TypedJob>,
) -> Response {
    answer(&window, &headers, typed, RequestKind::Quote).await
}

/// Answers a quote whose room is reserved for a minute.
pub(crate) async fn reserve(
    Extension(window): Extension<SessionWindow>,
    headers: HeaderMap,
    Json(typed): Json<TypedJob>,
) -> Response {
    answer(&window, &headers, typed, RequestKind::Reservation).await
}

/// Answers a submission, or claims the quote that was reserved for the job.
pub(crate) async fn submit(
    Extension(window): Extension<SessionWindow>,
    headers: HeaderMap,
    Json(typed): Json<TypedJob>,
) -> Response {
    answer(&window, &headers, typed, RequestKind::Submission).await
}

async fn answer(
    window: &SessionWindow,
    headers: &HeaderMap,
    typed: TypedJob,
    kind: RequestKind,
) -> Response {
    if typed.command.trim().is_empty() && kind == RequestKind::Submission {
        return unclear("Command: expected a program and its arguments", None);
    }
    let (now, quoted) = (now_in(headers), typed.quote.parse::<u64>().ok());
    let reader = window.clone();
    let read =
        tokio::task::spawn_blocking(move || reader.client.host.job_request(&typed, now)).await;
    let request = match read {
        Ok(Ok(request)) => request,
        Ok(Err(message)) => return unclear(&message, None),
        Err(_) => return unclear("the form cannot be read", None),
    };
    match send(window, request, kind, quoted).await {
        Ok(html) => PagePart(html).into_response(),
        Err(ClientError::Refused { problem, .. }) => {
            unclear(&problem.error, problem.hint.as_deref())
        }
        Err(error) => PageError::from(error).into_response(),
    }
}

async fn send(
    window: &SessionWindow,
    request: JobRequest,
    kind: RequestKind,
    quoted: Option<u64>,
) -> Result<String, ClientError> {
    let request = match kind {
        RequestKind::Quote => JobRequest {
            levels: true,
            ..request
        },
        RequestKind::Reservation => JobRequest {
            hold_s: Some(RESERVED_S),
            ..request
        },
        RequestKind::Submission => request,
    };
    if let (RequestKind::Submission, Some(id)) = (kind, quoted) {
        let claim = PathWithQuery::new(format!("/v1/quotes/{id}/claim"));
        let claimed: JobRef = window.client.service.post(&claim, &request).await?;
        return Ok(render_claimed(&claimed));
    }
    let path = match kind {
        RequestKind::Quote | RequestKind::Reservation => "/v1/quotes",
        RequestKind::Submission => "/v1/jobs",
    };
    let answer: SubmitResponse = window
        .client
        .service
        .post(&PathWithQuery::new(path), &request)
        .await?;
    Ok(render_answer(&answer, kind))
}

/// Returns why a job is not kind for.
pub(super) fn unclear(problem: &str, hint: Option<&str>) -> Response {
    let html = templates::render("problem", &ProblemView { problem, hint });
    // Not an error of the request: a browser would report it in its console.
    PagePart(html).into_response()
}

/// Renders the form.
pub fn render_form(dir: Option<String>, read_only: bool) -> String {
    templates::render("submit", &FormView { dir, read_only })
}

/// Renders the confirmation of a claimed quote.
pub fn render_claimed(claimed: &JobRef) -> String {
    templates::render("claimed", claimed)
}

/// Renders an answer.
pub fn render_answer(answer: &SubmitResponse, kind: RequestKind) -> String {
    let decision = answer.decision.known();
    let is_submitted = kind == RequestKind::Submission;
    let (mut surer, mut offers) = (Vec::new(), Vec::new());
    for offer in &answer.offers {
        match offer.change == OfferChange::Confidence {
            true => surer.push(offer_row(offer)),
            false => offers.push(offer_row(offer)),
        }
    }
    let is_reserved = answer.held_until_at.is_some();
    let view = AnswerView {
        tag: tag(answer, !is_submitted),
        reasons: &answer.reasons,
        id: answer.id,
        is_submitted,
        is_promised: decision == Some(JobDecision::Accepted),
        may_reserve: kind == RequestKind::Quote && decision == Some(JobDecision::Accepted),
        deadline_at: answer.deadline_at.as_deref(),
        expected: answer.expected.as_ref(),
        probability: answer
            .expected
            .as_ref()
            .and_then(|expected| expected.probability),
        estimate_s: answer.estimate_s,
        forecast_from: &answer.forecast_from,
        unpredictable: answer.unpredictable.as_ref(),
        price: answer.price.filter(|price| *price > 0.0),
        held_until_at: answer.held_until_at.as_deref(),
        decided_by_at: answer.decided_by_at.as_deref(),
        fill_quote: answer
            .id
            .filter(|_| is_reserved)
            .map(|id| fill(&[("quote", id.to_string())])),
        offers,
        surer,
    };
    templates::render("answer", &view)
}

/// Returns the decision as a tag. Of a quote it is what would be decided.
fn tag(answer: &SubmitResponse, is_quote: bool) -> ColouredWords {
    let Some(decision) = answer.decision.known() else {
        return ColouredWords::new(WordTone::Plain, answer.decision.to_string());
    };
    let is_due = answer.deadline_at.is_some();
    let (class, quoted, done) = match decision {
        JobDecision::Accepted if is_due => (WordTone::Good, "would be promised", "promised"),
        JobDecision::Accepted => (WordTone::Good, "would be admitted", "admitted"),
        JobDecision::Queued => (
            WordTone::Plain,
            "would wait",
            "queued: admitted at its start",
        ),
        JobDecision::Waitlisted => (
            WordTone::Bad,
            "would wait for a promise",
            "waits for a promise",
        ),
        JobDecision::Unpromised => (
            WordTone::Bad,
            "not promised like this",
            "runs without a promise",
        ),
        JobDecision::Deferred => (
            WordTone::Plain,
            "would be decided later",
            "decided when it may start",
        ),
        JobDecision::Rejected => (WordTone::Bad, "not like this", "rejected"),
    };
    ColouredWords::new(class, if is_quote { quoted } else { done })
}

fn offer_row(offer: &JobOffer) -> OfferRow {
    // A form takes plain numbers, and a rounded budget must not be too small.
    let budget = offer
        .budget
        .map(|most| ((most * 100.0).ceil() / 100.0).to_string());
    let confidence = offer.confidence.map(|sure| sure.to_string());
    let (change, words, filled) = match offer.change.known() {
        Some(OfferChange::Deadline) => {
            let from_now = offer.deadline_s.map(words::span);
            let words = from_now
                .map(|span| format!("{span} from now"))
                .unwrap_or_default();
            let span = offer
                .deadline_s
                .map(|s| format!("+{}s", s.ceil()))
                .unwrap_or_default();
            ("Later", words, ("deadline", span))
        }
        Some(OfferChange::Budget) => {
            let most = budget.unwrap_or_default();
            (
                "Dearer",
                format!("at most {most} credits"),
                ("budget", most),
            )
        }
        Some(OfferChange::Procs) => {
            let procs = words::count(offer.procs.into(), "processor");
            ("Smaller", procs, ("procs", offer.procs.to_string()))
        }
        Some(OfferChange::Confidence) => {
            let sure = offer.confidence.map(words::percent).unwrap_or_default();
            (
                "Surer",
                format!("at least {sure}"),
                ("confidence", confidence.unwrap_or_default()),
            )
        }
        None => (
            "Otherwise",
            offer.change.to_string(),
            ("quote", String::new()),
        ),
    };
    OfferRow {
        change,
        at: offer
            .deadline_at
            .clone()
            .filter(|_| offer.change == OfferChange::Deadline),
        words,
        probability: offer.probability,
        price: offer.price.filter(|price| *price > 0.0),
        fill: fill(&[filled, ("quote", String::new())]),
    }
}

/// Returns the fields that a button fills in, as JSON. The first value of a name counts.
fn fill(fields: &[(&str, String)]) -> String {
    let mut filled = Map::new();
    for (name, value) in fields {
        let value = Value::String(value.clone());
        filled.entry((*name).to_owned()).or_insert(value);
    }
    Value::Object(filled).to_string()
}
