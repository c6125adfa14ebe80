//! Exceptions from the shares of users.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::{GrantRequest, JobRef};
use tollgate_service::ServiceCommand;

use super::convert;
use super::error::ApiError;
use super::job_selector::JobSelector;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Lets a job that waits for a promise go beyond its user's share. Only operators may.
pub(super) async fn grant(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    request: Result<Json<GrantRequest>, JsonRejection>,
) -> JsonResult<JobRef> {
    let Json(request) = request?;
    if !peer.operator {
        let error = "only root and the service's own user grant more than a user's share";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    if tasks.is_some() {
        return Err(ApiError::field("id", "a job, with all of its tasks"));
    }
    let reason = convert::label("reason", &Some(request.reason))?;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let reason = reason.ok_or_else(|| ApiError::field("reason", "a reason"))?;
    let by = peer.user;
    query_controller(&service, |reply| ControllerRequest::Command {
        user: None,
        command: ServiceCommand::Grant { job, by, reason },
        reply,
    })
    .await?;
    Ok(Json(JobRef { id: job }))
}
