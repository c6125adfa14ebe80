//! Submissions, quotes, and claims of reserved quotes.

use std::time::Instant;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_CLAIM_KEY;
use tollgate_client::types::{JobDecision, JobRef, JobRequest, SubmitResponse};
use tollgate_service::{CommandResult, Submission, SubmitOutcome};
use tollgate_store::JobProgram;

use super::batch::new_job;
use super::convert;
use super::error::ApiError;
use super::job_selector::MAX_ID;
use super::repeat::{Answer, KeyedPeer, receive};
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::{ControllerRequest, NewJob, RequestError, SubmittedJob};
use crate::output_name;

pub(super) async fn submit(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    keyed: KeyedPeer,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> Result<Answer<SubmitResponse>, ApiError> {
    let Json(request) = request?;
    may_submit(&peer)?;
    let request = with_file_names(&service, request, peer.user).await?;
    let (reply, verdict) = oneshot::channel();
    let job = new_job(&service, request, peer.user, reply)?;
    submit_new(service, keyed, job, verdict).await
}

/// Submits a job whose reply comes as `verdict`, and answers.
pub(super) async fn submit_new(
    service: ApiState,
    keyed: KeyedPeer,
    job: NewJob,
    verdict: oneshot::Receiver<Result<SubmittedJob, RequestError>>,
) -> Result<Answer<SubmitResponse>, ApiError> {
    let service_of_answer = service.clone();
    let request = keyed.wrap(ControllerRequest::submit(job), move |results| {
        let (job, outcome) = submitted(results.first()?)?;
        Some(submit_answer(&service_of_answer, job, outcome))
    });
    service.controller_handle.send(request);
    let Some(SubmittedJob { job, answer }) = receive(verdict).await? else {
        return keyed.stored(&service).await;
    };
    let (status, answer) = submit_answer(&service, job, &answer);
    service.metrics.record_decision(&answer);
    Ok((status, answer))
}

/// Returns the request with the names of the job and of its user in the names of its files. The system's name
/// service may take its time.
pub(super) async fn with_file_names(
    service: &ApiState,
    request: JobRequest,
    user: u32,
) -> Result<JobRequest, ApiError> {
    let files = [&request.output, &request.error, &request.input];
    let needs_names = |file: &Option<String>| {
        let name = file.as_deref();
        name.is_some_and(output_name::names_submission)
    };
    if !files.into_iter().any(needs_names) {
        return Ok(request);
    }
    let names = service.names.clone();
    let user = tokio::task::spawn_blocking(move || names.name(user)).await;
    let user = user.map_err(|_| ApiError::stopping())?;
    let job = convert::name(&request)?;
    let named =
        |file: Option<String>| file.map(|name| output_name::of_submission(&name, &job, &user));
    Ok(JobRequest {
        output: named(request.output),
        error: named(request.error),
        input: named(request.input),
        ..request
    })
}

/// Returns the job of a result, and its outcome. None if no job was submitted.
pub(super) fn submitted(result: &CommandResult) -> Option<(u64, &SubmitOutcome)> {
    match result {
        CommandResult::Submitted { job, answer } => Some((*job, answer)),
        CommandResult::NotReserved { .. }
        | CommandResult::Altered { .. }
        | CommandResult::Unaltered { .. }
        | CommandResult::Learned { .. }
        | CommandResult::Done
        | CommandResult::Ignored(_) => None,
    }
}

fn submit_answer(service: &ApiState, job: u64, outcome: &SubmitOutcome) -> Answer<SubmitResponse> {
    let answer = service.submit_response(Some(job), outcome);
    let status = match answer.decision == JobDecision::Rejected {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    (status, Json(answer))
}

/// Rejects an oversized array before it is expanded, and a job that the batch system would end early.
pub(super) fn check_size(service: &ApiState, submission: &Submission) -> Result<(), ApiError> {
    let max = service.access.limits.array;
    if submission.n_tasks() > u64::from(max) {
        let expected = format!("at most {max} tasks");
        let hint = "the setting `limits.array` allows more";
        return Err(ApiError::field("array", &expected).hint(hint));
    }
    let time = submission.options.time_limit.or(submission.estimate);
    match service
        .info
        .batch_system
        .as_ref()
        .and_then(|system| system.max_time())
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
    keyed: KeyedPeer,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> JsonResult<SubmitResponse> {
    let Json(request) = request?;
    let submission = convert::submission(&request, peer.user, &service.info.promises)?;
    let times = convert::times(&request)?;
    if submission.options.held || !submission.options.dependencies.is_empty() {
        let expected = "neither of them: a quote is for a job that may start at once";
        return Err(ApiError::field("after, held", expected));
    }
    check_size(&service, &submission)?;
    if submission.reserve_for.is_none() {
        let began = Instant::now();
        let answer = query_controller(&service, |reply| ControllerRequest::Quote {
            submission,
            times,
            with_levels: request.levels,
            reply,
        })
        .await?;
        service.metrics.record_quote(began.elapsed());
        return Ok(Json(service.submit_response(None, &answer)));
    }
    may_submit(&peer)?;
    let (reply, reserved) = oneshot::channel();
    let request = ControllerRequest::Reserve {
        submission,
        times,
        reply,
    };
    let service_of_answer = service.clone();
    let request = keyed.wrap(request, move |results| {
        let (job, outcome) = submitted(results.first()?)?;
        let id = outcome.reserved_until.map(|_| job);
        let answer = service_of_answer.submit_response(id, outcome);
        Some((StatusCode::OK, Json(answer)))
    });
    service.controller_handle.send(request);
    match receive(reserved).await? {
        Some((id, answer)) => Ok(Json(service.submit_response(id, &answer))),
        None => Ok(keyed.stored(&service).await?.1),
    }
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
    keyed: KeyedPeer,
    query: Result<Query<ClaimQuery>, QueryRejection>,
    request: Result<Json<JobRequest>, JsonRejection>,
) -> JsonResult<JobRef> {
    let Json(request) = request?;
    may_submit(&peer)?;
    let request = with_file_names(&service, request, peer.user).await?;
    let job = parse_job_number(&id)?;
    let key = query?.0.key;
    let length = key.as_ref().map(|key| key.chars().count());
    if length.is_some_and(|length| !(1..=MAX_CLAIM_KEY).contains(&length)) {
        return Err(ApiError::field("key", "1 to 64 characters"));
    }
    let program = Box::new(JobProgram {
        claim_key: key,
        ..convert::program(request, &service.info.promises)?
    });
    let (reply, claimed) = oneshot::channel();
    let request = ControllerRequest::Claim {
        user: peer.user,
        job,
        program,
        reply,
    };
    let request = keyed.wrap(request, move |results| done(results, job));
    service.controller_handle.send(request);
    match receive(claimed).await? {
        Some(()) => Ok(Json(JobRef { id: job })),
        None => Ok(keyed.stored(&service).await?.1),
    }
}

/// Returns the answer to a command on a job that was carried out. None if it was not.
pub(super) fn done(results: &[CommandResult], job: u64) -> Option<Answer<JobRef>> {
    let is_done = matches!(results, [CommandResult::Done]);
    is_done.then_some((StatusCode::OK, Json(JobRef { id: job })))
}

pub(super) fn may_submit(peer: &Peer) -> Result<(), ApiError> {
    let Some(barred) = &peer.denied else {
        return Ok(());
    };
    let refused = ApiError::new(StatusCode::FORBIDDEN, barred.to_string());
    Err(refused.hint(barred.hint()))
}

fn parse_job_number(id: &str) -> Result<u64, ApiError> {
    let id = id.parse().ok().filter(|&id| id <= MAX_ID);
    id.ok_or_else(ApiError::unknown_job)
}
