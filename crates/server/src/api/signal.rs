//! Signals to running jobs.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::{SignalRequest, SignalResult};
use tollgate_model::WarningSignal;

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::own_job;
use super::state::{ApiState, JsonResult, query_controller, visible_user};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Sends a signal to the processes of a job, or of tasks of an array.
pub(super) async fn signal(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    request: Result<Json<SignalRequest>, JsonRejection>,
) -> JsonResult<SignalResult> {
    let Json(SignalRequest { signal }) = request?;
    let signal = parse_signal(Some(&signal))?;
    check_engine(&service)?;
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    let sent = query_controller(&service, |reply| ControllerRequest::Signal {
        user: visible_user(&peer),
        job,
        tasks,
        signal,
        reply,
    });
    let reach = match sent.await {
        Ok(reach) => reach,
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            // The controller knows no job that is over; the store does.
            let whole = JobSelector { job, tasks: None };
            own_job(&service, &peer, &whole).await?;
            return Err(ApiError::job_is_over());
        }
        Err(error) => return Err(error),
    };
    if reach.sent == 0 {
        let error = "no signal was sent: no process of the job can be reached now";
        let hint = "its worker may not be connected: `tollgate nodes` shows that";
        return Err(ApiError::new(StatusCode::CONFLICT, error).hint(hint));
    }
    Ok(Json(SignalResult {
        id: job,
        signalled: reach.sent,
        unreached: reach.unreached,
    }))
}

/// Parses the name of a signal.
pub(super) fn parse_signal(name: Option<&str>) -> Result<WarningSignal, ApiError> {
    let parsed = name.unwrap_or_default().parse::<WarningSignal>();
    parsed.map_err(|error| {
        let error = error.to_string();
        let expected = error.strip_prefix("expected ").unwrap_or(&error);
        ApiError::field("signal", expected)
    })
}

/// Refuses signals where jobs are jobs of a batch system, which passes none on.
pub(super) fn check_engine(service: &ApiState) -> Result<(), ApiError> {
    let Some(system) = &service.info.batch_system else {
        return Ok(());
    };
    let error = format!("jobs on the nodes of {} get no signals", system.kind());
    let hint = "`tollgate submit --signal USR1@60s` sends one before the time limit";
    Err(ApiError::new(StatusCode::CONFLICT, error).hint(hint))
}
