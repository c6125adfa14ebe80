//! Nodes that are drained, and used again.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::DrainRequest;

use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Drains nodes, or lets jobs start there again. Only operators may. Answers with the request.
pub(super) async fn drain(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<DrainRequest>, JsonRejection>,
) -> JsonResult<DrainRequest> {
    let Json(request) = request?;
    if !peer.operator {
        let error = "only root and the service's own user drain nodes";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let worker = request.worker.clone();
    let drained = request.drained;
    query_controller(&service, |reply| ControllerRequest::Drain {
        worker,
        drained,
        reply,
    })
    .await?;
    Ok(Json(request))
}
