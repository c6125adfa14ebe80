//! Jobs that are cancelled, held or released together: one request for many commands, which share
//! transactions.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{JobAction, JobsActionRequest, JobsActionResult};
use tollgate_service::ServiceCommand;

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::state::{ApiState, JsonResult, visible_user};
use crate::access::Peer;
use crate::controller::ControllerRequest;

pub(super) async fn act(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<JobsActionRequest>, JsonRejection>,
) -> JsonResult<JobsActionResult> {
    let Json(JobsActionRequest { action, ids }) = request?;
    if ids.len() > MAX_BATCH {
        return Err(ApiError::field("ids", &format!("at most {MAX_BATCH} jobs")));
    }
    let mut answers = Vec::new();
    for number in ids {
        let which = match JobSelector::of_number(&service, number).await {
            Ok(which) => which,
            Err(error) if is_about_the_job(error.status()) => continue,
            Err(error) => return Err(error),
        };
        let (reply, answer) = oneshot::channel();
        service.controller_handle.send(ControllerRequest::Command {
            user: visible_user(&peer),
            command: command(action, which),
            reply,
        });
        answers.push((number, answer));
    }
    let mut changed = Vec::new();
    for (number, answer) in answers {
        let done = answer.await.map_err(|_| ApiError::stopping())?;
        match done.map_err(ApiError::from) {
            Ok(()) => changed.push(number),
            Err(error) if is_about_the_job(error.status()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Json(JobsActionResult { changed }))
}

fn command(action: JobAction, which: JobSelector) -> ServiceCommand {
    let JobSelector { job, tasks } = which;
    match action {
        JobAction::Cancel => ServiceCommand::Cancel { job, tasks },
        JobAction::Hold => ServiceCommand::Hold { job, tasks },
        JobAction::Release => ServiceCommand::Release { job, tasks },
    }
}

/// Returns whether a job is why it was not changed: it is unknown, over, or in another state.
fn is_about_the_job(status: StatusCode) -> bool {
    [StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&status)
}
