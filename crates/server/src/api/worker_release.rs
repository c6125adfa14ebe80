//! Pilots that are to leave because no work needs them.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::{ReleasedWorkers, WorkerRelease};

use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Asks idle workers to leave. Only operators may.
pub(super) async fn release(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<WorkerRelease>, JsonRejection>,
) -> JsonResult<ReleasedWorkers> {
    let Json(WorkerRelease { workers }) = request?;
    if !peer.operator {
        let error = "only root and the service's own user release workers";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let workers = query_controller(&service, |reply| ControllerRequest::ReleaseWorkers {
        workers,
        reply,
    })
    .await?;
    Ok(Json(ReleasedWorkers { workers }))
}
