//! Changes to jobs that wait.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tokio::sync::oneshot;
use tollgate_client::types::{AlterRequest, AlterResponse};
use tollgate_service::{CommandResult, JobChange, SubmitOutcome};

use super::convert;
use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::own_job;
use super::repeat::{KeyedPeer, receive};
use super::state::{ApiState, JsonResult, visible_user};
use crate::access::Peer;
use crate::controller::ControllerRequest;

pub(super) async fn alter(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    keyed: KeyedPeer,
    request: Result<Json<AlterRequest>, JsonRejection>,
) -> JsonResult<AlterResponse> {
    let Json(request) = request?;
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    if tasks.is_some() {
        return Err(ApiError::field(
            "id",
            "a job: the tasks of an array are changed together",
        ));
    }
    let due = convert::due(request.deadline_at.as_deref(), request.deadline_s)?;
    let deadline = convert::span("deadline_s", request.deadline_s)?;
    if request.no_deadline && (deadline.is_some() || due.is_some()) {
        return Err(ApiError::field(
            "no_deadline",
            "false, with another deadline",
        ));
    }
    let change = JobChange {
        name: convert::label("name", &request.name)?,
        estimate: convert::span("estimate_s", request.estimate_s)?,
        deadline: match request.no_deadline {
            true => Some(None),
            false => deadline.map(Some),
        },
        max_at_once: limit(&request)?,
        time_limit: match (request.no_time_limit, request.time_limit_s) {
            (true, Some(_)) => {
                return Err(ApiError::field(
                    "no_time_limit",
                    "false, with another limit",
                ));
            }
            (true, None) => Some(None),
            (false, secs) => convert::span("time_limit_s", secs)?.map(Some),
        },
        comment: convert::label("comment", &request.comment)?,
    };
    if change == JobChange::default() && due.is_none() {
        return Err(ApiError::field(
            "name, estimate_s, deadline_s, max_running, time_limit_s, comment",
            "at least one of them",
        ));
    }
    let (reply, done) = oneshot::channel();
    let request = ControllerRequest::Alter {
        user: visible_user(&peer),
        job,
        change,
        due,
        reply,
    };
    let request = keyed.wrap(request, move |results| {
        let (altered, outcome) = altered(results.first()?)?;
        Some((StatusCode::OK, Json(alter_response(job, altered, outcome))))
    });
    service.controller_handle.send(request);
    match receive(done).await {
        Ok(Some((altered, outcome))) => Ok(Json(alter_response(job, altered, &outcome))),
        Ok(None) => Ok(keyed.stored(&service).await?.1),
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            own_job(&service, &peer, &JobSelector { job, tasks }).await?;
            Err(ApiError::job_is_over())
        }
        Err(error) => Err(error),
    }
}

/// Returns the changed limit of running tasks, if it is to change.
fn limit(request: &AlterRequest) -> Result<Option<Option<u32>>, ApiError> {
    match (request.no_max_running, request.max_running) {
        (true, Some(_)) => Err(ApiError::field(
            "no_max_running",
            "false, with another limit",
        )),
        (true, None) => Ok(Some(None)),
        (false, Some(0)) => Err(ApiError::field("max_running", "at least 1")),
        (false, limit) => Ok(limit.map(Some)),
    }
}

/// Returns whether a job was changed, and the decision about the changed job. None if the command was ignored.
fn altered(result: &CommandResult) -> Option<(bool, &SubmitOutcome)> {
    match result {
        CommandResult::Altered { answer } => Some((true, answer)),
        CommandResult::Unaltered { answer } => Some((false, answer)),
        CommandResult::Submitted { .. }
        | CommandResult::NotReserved { .. }
        | CommandResult::Learned { .. }
        | CommandResult::Done
        | CommandResult::Ignored(_) => None,
    }
}

fn alter_response(job: u64, altered: bool, outcome: &SubmitOutcome) -> AlterResponse {
    let answer = convert::submit_response(Some(job), outcome);
    AlterResponse { altered, answer }
}
