//! Changes to jobs that wait.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::{AlterRequest, AlterResponse};
use tollgate_service::JobChange;

use super::convert;
use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::own_job;
use super::state::{ApiState, JsonResult, ask_controller, visible_user};
use crate::access::Peer;
use crate::controller::ControllerRequest;

pub(super) async fn alter(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    request: Result<Json<AlterRequest>, JsonRejection>,
) -> JsonResult<AlterResponse> {
    let Json(request) = request?;
    let JobSelector { job, tasks } = JobSelector::parse(&id)?;
    if tasks.is_some() {
        return Err(ApiError::field(
            "id",
            "a job: tasks of an array cannot be changed",
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
    };
    if change == JobChange::default() && due.is_none() {
        return Err(ApiError::field(
            "name, estimate_s, deadline_s",
            "at least one of them",
        ));
    }
    let done = ask_controller(&service, |reply| ControllerRequest::Alter {
        user: visible_user(&peer),
        job,
        change,
        due,
        reply,
    });
    match done.await {
        Ok((altered, answer)) => {
            let answer = convert::submit_response(Some(job), &answer, None);
            Ok(Json(AlterResponse { altered, answer }))
        }
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            own_job(&service, &peer, &JobSelector { job, tasks }).await?;
            Err(ApiError::job_is_over())
        }
        Err(error) => Err(error),
    }
}
