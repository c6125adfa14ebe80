//! Ends of workers that batch systems have moved.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{EndOfWorker, MovedEnds, WorkerEnds};
use tollgate_model::Instant;

use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Passes on the ends that batch systems have for workers. Only operators may.
pub(super) async fn move_ends(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<WorkerEnds>, JsonRejection>,
) -> JsonResult<MovedEnds> {
    let Json(WorkerEnds { ends }) = request?;
    if !peer.operator {
        let error = "only root and the service's own user move the ends of workers";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let ends: Result<Vec<(String, Instant)>, ApiError> = ends.into_iter().map(parsed).collect();
    let ends = ends?;
    let workers = query_controller(&service, |reply| ControllerRequest::MoveEnds {
        ends,
        reply,
    })
    .await?;
    Ok(Json(MovedEnds { workers }))
}

fn parsed(end: EndOfWorker) -> Result<(String, Instant), ApiError> {
    let until = parse_iso(&end.until);
    let until =
        until.map_err(|_| ApiError::field("until", "an instant as 2026-12-01T09:00:00Z"))?;
    Ok((end.worker, until))
}
