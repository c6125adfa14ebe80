//! Jobs that are cancelled, held, released or sent a signal together: one request for many commands, which share
//! transactions.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{JobAction, JobsActionRequest, JobsActionResult};
use tollgate_model::WarningSignal;
use tollgate_service::{ServiceCommand, TaskRanges};
use tollgate_workers::SignalReach;

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::signal::{check_engine, parse_signal};
use super::state::{ApiState, JsonResult, visible_user};
use crate::access::Peer;
use crate::controller::{ControllerRequest, RequestError};

/// What is done to each of the jobs.
#[derive(Clone, Copy)]
enum BulkOrder {
    Command(fn(u64, Option<TaskRanges>) -> ServiceCommand),
    Signal(WarningSignal),
}

/// The controller's answer that is to come.
enum PendingAnswer {
    Command(oneshot::Receiver<Result<(), RequestError>>),
    Signal(oneshot::Receiver<Result<SignalReach, RequestError>>),
}

impl PendingAnswer {
    /// Returns whether the action was carried out.
    async fn receive(self) -> Result<Result<bool, RequestError>, ApiError> {
        let stopping = |_| ApiError::stopping();
        Ok(match self {
            Self::Command(answer) => answer.await.map_err(stopping)?.map(|()| true),
            Self::Signal(answer) => {
                let reach = answer.await.map_err(stopping)?;
                reach.map(|reach| reach.sent > 0)
            }
        })
    }
}

pub(super) async fn act(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<JobsActionRequest>, JsonRejection>,
) -> JsonResult<JobsActionResult> {
    let Json(JobsActionRequest {
        action,
        ids,
        signal,
    }) = request?;
    if ids.len() > MAX_BATCH {
        return Err(ApiError::field("ids", &format!("at most {MAX_BATCH} jobs")));
    }
    let order = order(action, signal.as_deref())?;
    if let BulkOrder::Signal(_) = order {
        check_engine(&service)?;
    }
    let mut answers = Vec::new();
    for number in ids {
        let which = match JobSelector::of_number(&service, number).await {
            Ok(which) => which,
            Err(error) if is_about_the_job(error.status()) => continue,
            Err(error) => return Err(error),
        };
        let (request, answer) = request_of(visible_user(&peer), which, order);
        service.controller_handle.send(request);
        answers.push((number, answer));
    }
    let mut changed = Vec::new();
    for (number, answer) in answers {
        match answer.receive().await?.map_err(ApiError::from) {
            Ok(true) => changed.push(number),
            Ok(false) => {}
            Err(error) if is_about_the_job(error.status()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Json(JobsActionResult { changed }))
}

fn order(action: JobAction, signal: Option<&str>) -> Result<BulkOrder, ApiError> {
    let order = match action {
        JobAction::Cancel => BulkOrder::Command(|job, tasks| ServiceCommand::Cancel { job, tasks }),
        JobAction::Hold => BulkOrder::Command(|job, tasks| ServiceCommand::Hold { job, tasks }),
        JobAction::Release => {
            BulkOrder::Command(|job, tasks| ServiceCommand::Release { job, tasks })
        }
        JobAction::Requeue => {
            BulkOrder::Command(|job, tasks| ServiceCommand::Requeue { job, tasks })
        }
        JobAction::Signal => return parse_signal(signal).map(BulkOrder::Signal),
    };
    match signal {
        None => Ok(order),
        Some(_) => Err(ApiError::field("signal", "none with this action")),
    }
}

/// Returns the request for one job, and its answer to come.
fn request_of(
    user: Option<u32>,
    JobSelector { job, tasks }: JobSelector,
    order: BulkOrder,
) -> (ControllerRequest, PendingAnswer) {
    match order {
        BulkOrder::Command(command) => {
            let (reply, answer) = oneshot::channel();
            let request = ControllerRequest::Command {
                user,
                command: command(job, tasks),
                reply,
            };
            (request, PendingAnswer::Command(answer))
        }
        BulkOrder::Signal(signal) => {
            let (reply, answer) = oneshot::channel();
            let request = ControllerRequest::Signal {
                user,
                job,
                tasks,
                signal,
                reply,
            };
            (request, PendingAnswer::Signal(answer))
        }
    }
}

/// Returns whether a job is why it was not changed: it is unknown, over, or in another state.
fn is_about_the_job(status: StatusCode) -> bool {
    [StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&status)
}
