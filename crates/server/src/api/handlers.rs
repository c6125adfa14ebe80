//! The handlers of the paths.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Json, Router};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;
use tollgate_client::limits::{MAX_CLAIM_KEY, MAX_JOBS};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    CalibrationReport, JobDetails, JobExplanation, JobList, JobRef, JobRequest, LedgerReport,
    NodeList, ServiceObjectives, ServiceStatus, SubmitResponse,
};
use tollgate_model::{Span, TaskId};
use tollgate_service::{ServiceCommand, Submission, TaskRanges};
use tollgate_store::{JobFilter, JobProgram, JobRow, StoreError, StoreReader};

use super::batch::new_job;
use super::error::ApiError;
use super::explain::{explanation_sentences, grant_sentence};
use super::job_selector::{JobSelector, MAX_ID};
use super::metrics::ServiceMetrics;
use super::{convert, objectives, router};
use crate::access::{AccessRules, Peer, ServiceLimits};
use crate::controller::{ControllerHandle, ControllerRequest, RequestError, Responder};
use crate::events::EventLog;
use crate::net::CredentialStore;
use crate::permits::KeyedSemaphore;
use crate::user_names::UserNames;
use crate::workers::WorkerAcceptor;

/// Maximum time for the controller thread to answer a health check: many times its longest tick.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the user whose jobs a peer may see and change; None if the peer may access the jobs of
/// all users.
pub(super) fn visible_user(peer: &Peer) -> Option<u32> {
    (!peer.operator).then_some(peer.user)
}

/// Shared state of the handlers.
#[derive(Clone)]
pub struct ApiState {
    /// The handle of the controller.
    pub controller_handle: ControllerHandle,
    /// The store, for reading.
    pub reader: Arc<Mutex<StoreReader>>,
    /// The names of users.
    pub names: UserNames,
    /// Static facts about the service.
    pub info: Arc<ServiceInfo>,
    /// Access rules and limits.
    pub access: AccessRules,
    /// Tokens and certificates.
    pub credentials: Arc<CredentialStore>,
    /// Events of jobs.
    pub log: EventLog,
    /// The service's counters.
    pub metrics: Arc<ServiceMetrics>,
    /// Limit on the event streams of each user.
    pub stream_permits: KeyedSemaphore<u32>,
    /// The clock.
    pub clock: fn() -> tollgate_model::Instant,
    /// The entry point of worker connections.
    pub worker_acceptor: WorkerAcceptor,
    /// The socket of the terminal of a session, if the service belongs to one.
    pub terminal: PathBuf,
}

impl ApiState {
    /// Returns the time limit of a job, if the policy enforces it.
    pub(super) fn enforced_time_limit(&self, request: &JobRequest) -> Option<f64> {
        request
            .time_limit_s
            .filter(|_| self.info.enforces_time_limits)
    }
}

/// Static facts about the service.
#[derive(Clone, Debug)]
pub struct ServiceInfo {
    /// The admission policy.
    pub policy: String,
    /// Whether jobs are ended at their time limits.
    pub enforces_time_limits: bool,
    /// Directory of the outputs that are kept of tasks on other hosts; None if none are.
    pub outputs: Option<std::path::PathBuf>,
    /// Whether there is a command for notices.
    pub sends_notices: bool,
    /// The longest time of a job on the nodes of the batch system; None if there is no maximum.
    pub max_time: Option<Span>,
    /// The pricing model.
    pub market: String,
    /// Start of the service.
    pub since: tollgate_model::Instant,
}

pub(super) type JsonResult<T> = Result<Json<T>, ApiError>;

/// Returns the router with every path.
pub fn router(service: ApiState) -> Router {
    let paths = router::all().into_iter();
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
async fn buffer_body(
    State(limits): State<ServiceLimits>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let time = Duration::from_secs_f64(limits.request_s);
    let whole = Limited::new(body, limits.body_bytes).collect();
    let body = match tokio::time::timeout(time, whole).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let error = format!("expected a request of at most {} bytes", limits.body_bytes);
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error));
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
    Ok(next.run(Request::from_parts(head, body.into())).await)
}

/// Asks the controller thread for a sign of life: the other threads may still answer while it is
/// stuck.
pub(super) async fn healthz(State(service): State<ApiState>) -> Result<&'static str, ApiError> {
    ping(&service.controller_handle).await
}

async fn ping(controller_handle: &ControllerHandle) -> Result<&'static str, ApiError> {
    let pulse = send_request(controller_handle, |reply| ControllerRequest::Ping { reply });
    match tokio::time::timeout(PING_TIMEOUT, pulse).await {
        Ok(answered) => answered.map(|()| "ok\n"),
        Err(_) => {
            let error = format!(
                "the service has decided nothing for {} s",
                PING_TIMEOUT.as_secs()
            );
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error))
        }
    }
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}

pub(super) async fn submit(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<SubmitResponse>), ApiError> {
    let Json(request) = request?;
    may_submit(&peer)?;
    let time_limit_s = service.enforced_time_limit(&request);
    let (reply, verdict) = oneshot::channel();
    let job = new_job(&service, request, peer.user, reply)?;
    service
        .controller_handle
        .send(ControllerRequest::submit(job));
    let verdict = verdict.await.map_err(|_| ApiError::stopping())??;
    let answer = convert::submit_response(Some(verdict.job), &verdict.answer, time_limit_s);
    service.metrics.record_decision(answer.decision);
    let status = match answer.decision {
        tollgate_client::types::JobDecision::Accepted
        | tollgate_client::types::JobDecision::Queued
        | tollgate_client::types::JobDecision::Waitlisted
        | tollgate_client::types::JobDecision::Unpromised
        | tollgate_client::types::JobDecision::Deferred => StatusCode::CREATED,
        tollgate_client::types::JobDecision::Rejected => StatusCode::OK,
    };
    Ok((status, Json(answer)))
}

/// Rejects an oversized array before it is expanded, and a job that the batch system would end early.
pub(super) fn check_size(service: &ApiState, submission: &Submission) -> Result<(), ApiError> {
    let max = service.access.limits.array;
    if submission.n_tasks() > u64::from(max) {
        return Err(ApiError::field("array", &format!("at most {max} tasks")));
    }
    let time = submission.options.time_limit.or(submission.estimate);
    match service
        .info
        .max_time
        .filter(|&max| time.is_some_and(|time| time > max))
    {
        None => Ok(()),
        Some(max) => {
            let seconds = max.as_secs_f64();
            let expected = format!("at most {seconds} s: the batch system ends every job by then");
            Err(ApiError::field("time_limit_s, estimate_s", &expected))
        }
    }
}

pub(super) async fn quote(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> JsonResult<SubmitResponse> {
    let Json(request) = request?;
    let submission = convert::submission(&request, peer.user)?;
    let due = convert::due(request.deadline_at.as_deref(), request.deadline_s)?;
    if submission.options.held || !submission.options.dependencies.is_empty() {
        let expected = "neither of them: a quote is for a job that may start at once";
        return Err(ApiError::field("after, held", expected));
    }
    check_size(&service, &submission)?;
    let time_limit_s = service.enforced_time_limit(&request);
    if submission.reserve_for.is_none() {
        let began = Instant::now();
        let answer = ask_controller(&service, |reply| ControllerRequest::Quote {
            submission,
            due,
            with_levels: request.levels,
            reply,
        })
        .await?;
        service.metrics.record_quote(began.elapsed());
        return Ok(Json(convert::submit_response(None, &answer, time_limit_s)));
    }
    may_submit(&peer)?;
    let (id, answer) = ask_controller(&service, |reply| ControllerRequest::Reserve {
        submission,
        due,
        reply,
    })
    .await?;
    Ok(Json(convert::submit_response(id, &answer, time_limit_s)))
}

/// How a quote is claimed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimQuery {
    /// Idempotency key: the same claim with the same key again gets the same answer, and changes nothing.
    /// A word of the client's own, at most 64 characters.
    #[schemars(length(min = 1, max = MAX_CLAIM_KEY))]
    key: Option<String>,
}

/// Claims a reserved quote as a job. Only the program is taken from the request.
pub(super) async fn claim(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    wanted: Result<Query<ClaimQuery>, QueryRejection>,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> JsonResult<JobRef> {
    let Json(request) = request?;
    may_submit(&peer)?;
    let job = parse_job_number(&id)?;
    let key = wanted?.0.key;
    let length = key.as_ref().map(|key| key.chars().count());
    if length.is_some_and(|length| !(1..=MAX_CLAIM_KEY).contains(&length)) {
        return Err(ApiError::field("key", "1 to 64 characters"));
    }
    let program = Box::new(JobProgram {
        claim_key: key,
        ..convert::program(request)?
    });
    let user = peer.user;
    ask_controller(&service, |reply| ControllerRequest::Claim {
        user,
        job,
        program,
        reply,
    })
    .await?;
    Ok(Json(JobRef { id: job }))
}

pub(super) fn may_submit(peer: &Peer) -> Result<(), ApiError> {
    let Some(barred) = &peer.denied else {
        return Ok(());
    };
    let refused = ApiError::new(StatusCode::FORBIDDEN, barred.to_string());
    Err(refused.hint(barred.hint()))
}

pub(super) async fn status(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<ServiceStatus> {
    let census = ask_controller(&service, |reply| ControllerRequest::Status { reply }).await?;
    Ok(Json(ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        now_at: format_iso(census.now),
        up_since_at: format_iso(service.info.since),
        policy: service.info.policy.clone(),
        market: service.info.market.clone(),
        nodes: census.nodes,
        idle_nodes: census.idle,
        queued: census.queued,
        held: census.held,
        running: census.running,
        workers: census.workers,
        workers_disconnected: census.workers_disconnected,
        maintenance_from_at: census.maintenance.map(|window| format_iso(window.from)),
        maintenance_until_at: census.maintenance.map(|window| format_iso(window.until)),
        // The total that all jobs earned is only for a peer that may see what each job earned.
        shadow: census
            .shadow
            .filter(|_| peer.operator)
            .map(|shadow| objectives::shadow_status(&shadow)),
    }))
}

/// The requested jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsQuery {
    /// Only those in this state.
    state: Option<String>,
    /// Only those that are not over.
    #[serde(default)]
    live: bool,
    /// Only those before this number.
    before: Option<u64>,
    /// At most so many: 100 if left out, at most 10,000.
    limit: Option<u32>,
}

pub(super) async fn jobs(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    wanted: Result<Query<JobsQuery>, QueryRejection>,
) -> JsonResult<JobList> {
    let Query(wanted) = wanted?;
    let selection = JobFilter {
        user: visible_user(&peer),
        state: wanted.state,
        unfinished: wanted.live,
        before: wanted.before.map(|before| before.min(MAX_ID)),
        limit: wanted.limit.unwrap_or(100).min(MAX_JOBS),
    };
    let rows = query_store(&service, move |reader| reader.jobs(&selection)).await?;
    let jobs = with_names(&service, rows).await?;
    Ok(Json(JobList { jobs }))
}

pub(super) async fn job(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<JobDetails> {
    let row = own_job(&service, &peer, &JobSelector::parse(&id)?).await?;
    Ok(Json(with_name(&service, row).await?))
}

/// How many tasks are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TasksQuery {
    /// At most so many: 100 if left out, at most 10,000.
    limit: Option<u32>,
}

/// Lists the tasks of an array, each as a job.
pub(super) async fn tasks(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    few: Result<Query<TasksQuery>, QueryRejection>,
) -> JsonResult<JobList> {
    let Query(few) = few?;
    let JobSelector { job, tasks } = JobSelector::parse(&id)?;
    let whole = JobSelector { job, tasks: None };
    own_job(&service, &peer, &whole).await?;
    let limit = few.limit.unwrap_or(100).min(MAX_JOBS);
    let rows = query_store(&service, move |reader| {
        reader.tasks(job, tasks.as_ref(), limit)
    });
    let rows = rows.await?.ok_or_else(|| {
        let error = "this job is not an array: it has no tasks";
        ApiError::new(StatusCode::NOT_FOUND, error)
    })?;
    let jobs = with_names(&service, rows).await?;
    Ok(Json(JobList { jobs }))
}

pub(super) async fn explain(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<JobExplanation> {
    let row = own_job(&service, &peer, &JobSelector::parse(&id)?).await?;
    let task = TaskId {
        job: row.id,
        task: row.task.unwrap_or(0),
    };
    let story =
        ask_controller(&service, |reply| ControllerRequest::Explain { task, reply }).await?;
    let granted = query_store(&service, move |reader| reader.grant(task.job)).await?;
    let job = with_name(&service, row).await?;
    let granted = match granted {
        Some((at, by, reason)) => {
            let names = service.names.clone();
            let by = tokio::task::spawn_blocking(move || names.name(by)).await;
            let by = by.map_err(|_| ApiError::stopping())?;
            Some(grant_sentence(at, &by, &reason))
        }
        None => None,
    };
    let prospect = story.as_ref().and_then(|story| story.prediction.as_ref());
    Ok(Json(JobExplanation {
        words: explanation_sentences(&job, story.as_ref())
            .into_iter()
            .chain(granted)
            .collect(),
        expected: prospect.map(convert::job_forecast),
        job,
    }))
}

/// What is waited for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Only until it is let in or kept out.
    #[serde(default)]
    decision: bool,
}

/// Answers once the job is finished or decided.
pub(super) async fn wait(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    until: Result<Query<WaitQuery>, QueryRejection>,
) -> JsonResult<JobDetails> {
    let Query(until) = until?;
    let which = JobSelector::parse(&id)?;
    let row = own_job(&service, &peer, &which).await?;
    let waited = ask_controller(&service, |reply| ControllerRequest::Wait {
        job: row.id,
        task: row.task,
        reply,
        decided: until.decision,
    });
    tokio::select! {
        waited = waited => waited?,
        // The client has to ask the restarted service again.
        () = service.log.closed() => return Err(ApiError::stopping()),
    }
    let row = own_job(&service, &peer, &which).await?;
    Ok(Json(with_name(&service, row).await?))
}

pub(super) async fn cancel(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, |job, tasks| ServiceCommand::Cancel {
        job,
        tasks,
    })
    .await
}

pub(super) async fn hold(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, |job, tasks| ServiceCommand::Hold {
        job,
        tasks,
    })
    .await
}

pub(super) async fn release(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, |job, tasks| ServiceCommand::Release {
        job,
        tasks,
    })
    .await
}

async fn run_command(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    command: fn(u64, Option<TaskRanges>) -> ServiceCommand,
) -> JsonResult<JobRef> {
    let JobSelector { job, tasks } = JobSelector::parse(&id)?;
    let carried_out = ask_controller(&service, |reply| ControllerRequest::Command {
        user: visible_user(&peer),
        command: command(job, tasks),
        reply,
    });
    match carried_out.await {
        Ok(()) => Ok(Json(JobRef { id: job })),
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            // The controller knows no job that is over; the store does.
            let whole = JobSelector { job, tasks: None };
            own_job(&service, &peer, &whole).await?;
            Err(ApiError::job_is_over())
        }
        Err(error) => Err(error),
    }
}

pub(super) async fn ledger(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<LedgerReport> {
    let accounts = query_store(&service, move |reader| reader.ledger(visible_user(&peer))).await?;
    let accounts = accounts.iter().map(convert::account_entry).collect();
    Ok(Json(LedgerReport { accounts }))
}

pub(super) async fn objectives(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<ServiceObjectives> {
    let sums = query_store(&service, move |reader| {
        reader.objective_sums(visible_user(&peer))
    })
    .await?;
    Ok(Json(objectives::objectives(&sums)))
}

pub(super) async fn calibration(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<CalibrationReport> {
    let bins = query_store(&service, move |reader| {
        reader.calibration(visible_user(&peer))
    })
    .await?;
    Ok(Json(objectives::calibration(&bins)))
}

pub(super) async fn nodes(State(service): State<ApiState>) -> JsonResult<NodeList> {
    let site = ask_controller(&service, |reply| ControllerRequest::Nodes { reply }).await?;
    Ok(Json(objectives::node_list(&site)))
}

fn parse_job_number(id: &str) -> Result<u64, ApiError> {
    let id = id.parse().ok().filter(|&id| id <= MAX_ID);
    id.ok_or_else(ApiError::unknown_job)
}

/// Returns a job, or one task, that the peer may see. A job of another user counts as unknown.
pub(super) async fn own_job(
    service: &ApiState,
    peer: &Peer,
    which: &JobSelector,
) -> Result<JobRow, ApiError> {
    let (job, tasks) = (which.job, which.tasks.clone());
    if tasks.is_some() && which.task().is_none() {
        return Err(ApiError::field("id", "a job, or one task of it"));
    }
    let row = query_store(service, move |reader| match &tasks {
        None => reader.job(job),
        Some(_) => {
            let tasks = reader.tasks(job, tasks.as_ref(), 1)?;
            Ok(tasks.unwrap_or_default().pop())
        }
    });
    let row = row.await?;
    row.filter(|row| visible_user(peer).is_none_or(|user| row.user == user))
        .ok_or_else(ApiError::unknown_job)
}

/// Converts stored jobs, with the names of their users. The system's name service may take its time.
pub(super) async fn with_names(
    service: &ApiState,
    rows: Vec<JobRow>,
) -> Result<Vec<JobDetails>, ApiError> {
    let names = service.names.clone();
    let named = tokio::task::spawn_blocking(move || {
        let named = |row: JobRow| {
            let user = names.name(row.user);
            convert::job_details(row, user)
        };
        rows.into_iter().map(named).collect()
    });
    named.await.map_err(|_| ApiError::stopping())
}

/// Converts a stored job, with the name of its user.
pub(super) async fn with_name(service: &ApiState, row: JobRow) -> Result<JobDetails, ApiError> {
    let mut named = with_names(service, vec![row]).await?;
    named.pop().ok_or_else(ApiError::unknown_job)
}

pub(super) async fn ask_controller<T>(
    service: &ApiState,
    question: impl FnOnce(Responder<T>) -> ControllerRequest,
) -> Result<T, ApiError> {
    send_request(&service.controller_handle, question).await
}

async fn send_request<T>(
    controller_handle: &ControllerHandle,
    question: impl FnOnce(Responder<T>) -> ControllerRequest,
) -> Result<T, ApiError> {
    let (reply, answer) = oneshot::channel::<Result<T, RequestError>>();
    controller_handle.send(question(reply));
    let answered = answer.await.map_err(|_| ApiError::stopping())?;
    Ok(answered?)
}

pub(crate) async fn query_store<T: Send + 'static>(
    service: &ApiState,
    query: impl FnOnce(&StoreReader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let reader = Arc::clone(&service.reader);
    let done = tokio::task::spawn_blocking(move || {
        // A reader has no state that a panic could leave half changed.
        let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        query(&reader)
    });
    let rows = done.await.map_err(|_| ApiError::stopping())?;
    Ok(rows?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With paused time, a timeout elapses at once when all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn health_check_fails_if_the_controller_does_not_respond() {
        let (controller_handle, requests) = ControllerHandle::detached();
        let stuck = ping(&controller_handle).await.unwrap_err();
        assert_eq!(stuck.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(requests);
        let gone = ping(&controller_handle).await.unwrap_err();
        assert_eq!(gone.status(), StatusCode::SERVICE_UNAVAILABLE);
        let (controller_handle, requests) = ControllerHandle::detached();
        // Paused time does not pass while a blocking task runs.
        let answering = tokio::task::spawn_blocking(move || match requests.recv() {
            Ok(ControllerRequest::Ping { reply }) => reply.send(Ok(())).unwrap(),
            other => panic!("{other:?}"),
        });
        assert_eq!(ping(&controller_handle).await.unwrap(), "ok\n");
        answering.await.unwrap();
    }
}
