//! The handler that removes old jobs, and the removal by the settings.

use std::time::Duration;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::records::{PruneRequest, PruneResult};
use tollgate_client::timestamp::format_iso;
use tollgate_model::{Instant, Span};

use super::convert;
use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller, query_store};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Interval at which old jobs are removed.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// Removes jobs that are over. Only operators may, because the jobs are those of all users.
pub(super) async fn prune(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<PruneRequest>, JsonRejection>,
) -> JsonResult<PruneResult> {
    let Json(request) = request?;
    if !peer.operator {
        let error = "only root and the service's own user remove jobs of all users";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let age = convert::span("older_than_s", Some(request.older_than_s))?;
    let before = cutoff(&service, age.unwrap_or(Span::ZERO));
    let jobs = match request.dry_run {
        true => query_store(&service, move |reader| reader.n_removable(before)).await?,
        false => remove(&service, before).await?,
    };
    Ok(Json(PruneResult {
        before_at: format_iso(before),
        jobs,
        dry_run: request.dry_run,
    }))
}

/// Removes jobs older than `age` now and then. Returns once the service stops.
pub(crate) async fn keep_pruning(service: ApiState, age: Span) {
    loop {
        let before = cutoff(&service, age);
        match remove(&service, before).await {
            Ok(0) => {}
            Ok(jobs) => tracing::info!(jobs, before = format_iso(before), "old jobs were removed"),
            // The controller has written the cause to the log.
            Err(error) if error.status() == StatusCode::SERVICE_UNAVAILABLE => return,
            Err(_) => {}
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the instant `age` ago, at the earliest the first one.
fn cutoff(service: &ApiState, age: Span) -> Instant {
    let now = (service.clock)().since(Instant::ZERO);
    Instant::ZERO + (now - age).max(Span::ZERO)
}

/// Removes all jobs that ended before an instant, some at a time. Returns their number.
async fn remove(service: &ApiState, before: Instant) -> Result<u64, ApiError> {
    let mut jobs = 0;
    loop {
        let request = |reply| ControllerRequest::Prune { before, reply };
        let removed = query_controller(service, request).await?;
        jobs += removed.jobs.len() as u64;
        if removed.is_done {
            return Ok(jobs);
        }
    }
}
