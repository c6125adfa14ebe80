//! Jobs that are submitted together: all of them are submitted in one transaction, or none.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{BatchResponse, JobBatch, JobRequest};

use super::convert;
use super::error::ApiError;
use super::repeat::{Answer, KeyedPeer, receive};
use super::state::ApiState;
use super::submission::{check_size, may_submit, submitted, with_file_names};
use crate::access::Peer;
use crate::controller::{ControllerRequest, NewJob, Responder, SubmittedJob};
use crate::notices::kind::NoticeRequest;

/// The fields that name one time in two ways. A job that has one of them does not get the other from the batch.
const TIMES: [[&str; 2]; 2] = [["deadline_s", "deadline_at"], ["begin_s", "begin_at"]];

pub(super) async fn submit_batch(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    keyed: KeyedPeer,
    batch: Result<Json<JobBatch>, JsonRejection>,
) -> Result<Answer<BatchResponse>, ApiError> {
    let Json(JobBatch { common, jobs }) = batch?;
    may_submit(&peer)?;
    if jobs.is_empty() || jobs.len() > MAX_BATCH {
        let expected = format!("at least one job, and at most {MAX_BATCH}");
        return Err(ApiError::field("jobs", &expected));
    }
    let (mut new_jobs, mut answers) = (Vec::new(), Vec::new());
    for (at, job) in jobs.into_iter().enumerate() {
        let in_batch = |error: ApiError| error.within(&format!("jobs[{at}]"));
        let request = with_common(job, &common).map_err(in_batch)?;
        let request = with_file_names(&service, request, peer.user).await;
        let request = request.map_err(in_batch)?;
        let (reply, answer) = oneshot::channel();
        let job = new_job(&service, request, peer.user, reply).map_err(in_batch)?;
        new_jobs.push(job);
        answers.push(answer);
    }
    let request = ControllerRequest::Submit { jobs: new_jobs };
    let service_of_answer = service.clone();
    let request = keyed.wrap(request, move |results| {
        let jobs = results.iter().map(|result| {
            let (job, outcome) = submitted(result)?;
            Some(service_of_answer.submit_response(Some(job), outcome))
        });
        let jobs = jobs.collect::<Option<Vec<_>>>()?;
        Some((StatusCode::CREATED, Json(BatchResponse { jobs })))
    });
    service.controller_handle.send(request);
    let mut responses = Vec::new();
    for answer in answers {
        let Some(submitted) = receive(answer).await? else {
            return keyed.stored(&service).await;
        };
        let response = service.submit_response(Some(submitted.job), &submitted.answer);
        service.metrics.record_decision(&response);
        responses.push(response);
    }
    let jobs = responses;
    Ok((StatusCode::CREATED, Json(BatchResponse { jobs })))
}

/// Checks a request for a job.
pub(super) fn new_job(
    service: &ApiState,
    request: JobRequest,
    user: u32,
    reply: Responder<SubmittedJob>,
) -> Result<NewJob, ApiError> {
    if request.hold_s.is_some() {
        return Err(ApiError::field("hold_s", "nothing: only a quote is held"));
    }
    check_notices(&request.notify, &service.info.notice_targets)?;
    let submission = convert::submission(&request, user, &service.info.promises)?;
    let times = convert::times(&request)?;
    check_size(service, &submission)?;
    let program = Box::new(convert::program(request, &service.info.promises)?);
    Ok(NewJob {
        submission,
        times,
        program,
        reply,
    })
}

/// Checks that the service sends notices by the wanted targets.
fn check_notices(notify: &[String], targets: &[String]) -> Result<(), ApiError> {
    if !notify.is_empty() && targets.is_empty() {
        let refused = ApiError::field("notify", "nothing: this service sends no notices");
        return Err(refused.hint("the setting `notices` names a command, or other targets"));
    }
    let requested = notify.iter().filter_map(|word| word.parse().ok());
    for NoticeRequest { target, .. } in requested {
        if let Some(target) = target.filter(|target| !targets.contains(target)) {
            let expected = format!("one of the targets {}, not `{target}`", targets.join(", "));
            return Err(ApiError::field("notify", &expected));
        }
    }
    Ok(())
}

/// Returns a job of a batch with the fields that all have in common.
fn with_common(
    job: Map<String, Value>,
    common: &Map<String, Value>,
) -> Result<JobRequest, ApiError> {
    let mut fields = common.clone();
    for names in TIMES {
        if names.iter().any(|name| job.contains_key(*name)) {
            fields.retain(|name, _| !names.contains(&name.as_str()));
        }
    }
    fields.extend(job);
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}
