//! Steps of jobs: recorded by `srun` in them, and listed.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::limits::{MAX_JOBS, MAX_LISTED_IDS};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{StepDetails, StepEnd, StepList, StepRef, StepStart};
use tollgate_model::AttemptId;
use tollgate_store::{NewStep, StepEnding, StepRow};

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::state::{ApiState, JsonResult, query_controller, query_store, visible_user};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Records the start of a step.
pub(super) async fn begin(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    request: Result<Json<StepStart>, JsonRejection>,
) -> JsonResult<StepRef> {
    let Json(start) = request?;
    let attempt = attempt(&service, &id, start.attempt).await?;
    let step = NewStep {
        attempt,
        name: start.name,
        n_tasks: start.tasks,
        procs: start.procs,
        hosts: start.hosts,
    };
    let step = query_controller(&service, |reply| ControllerRequest::BeginStep {
        user: visible_user(&peer),
        step: Box::new(step),
        reply,
    })
    .await?;
    Ok(Json(StepRef {
        id: attempt.job,
        step,
    }))
}

/// Records the end of a step.
pub(super) async fn end(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path((id, step)): Path<(String, u32)>,
    request: Result<Json<StepEnd>, JsonRejection>,
) -> JsonResult<StepRef> {
    let Json(end) = request?;
    let attempt = attempt(&service, &id, end.attempt).await?;
    query_controller(&service, |reply| ControllerRequest::EndStep {
        user: visible_user(&peer),
        attempt,
        step,
        ending: StepEnding {
            code: end.exit_code,
            signal: end.exit_signal,
        },
        reply,
    })
    .await?;
    Ok(Json(StepRef {
        id: attempt.job,
        step,
    }))
}

/// Returns an attempt of a job, or of one task of an array.
async fn attempt(service: &ApiState, id: &str, attempt: u32) -> Result<AttemptId, ApiError> {
    let selector = JobSelector::find(service, id).await?;
    let task = match &selector.tasks {
        None => 0,
        Some(_) => selector.task().ok_or_else(ApiError::unknown_job)?,
    };
    Ok(AttemptId {
        job: selector.job,
        task,
        attempt,
    })
}

/// The jobs whose steps are requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepsQuery {
    /// The numbers of the jobs, separated by commas, at most 1000 of them. Unknown ones are left out.
    #[schemars(regex(pattern = "^[0-9]+(,[0-9]+)*$"))]
    ids: String,
}

/// Lists the steps of jobs.
pub(super) async fn list(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<StepsQuery>, QueryRejection>,
) -> JsonResult<StepList> {
    let Query(query) = query?;
    let expected = "at most 1000 numbers of jobs, as in 7,8";
    let ids = query.ids.split(',').map(str::parse);
    let ids: Result<Vec<u64>, _> = ids.collect();
    let ids = ids.map_err(|_| ApiError::field("ids", expected))?;
    if ids.len() > MAX_LISTED_IDS || ids.iter().any(|id| i64::try_from(*id).is_err()) {
        return Err(ApiError::field("ids", expected));
    }
    let user = visible_user(&peer);
    let rows = query_store(&service, move |reader| {
        reader.steps(&ids, user, MAX_JOBS + 1)
    });
    let mut rows = rows.await?;
    let more = rows.len() > MAX_JOBS as usize;
    rows.truncate(MAX_JOBS as usize);
    Ok(Json(StepList {
        steps: rows.into_iter().map(details).collect(),
        more,
    }))
}

fn details(row: StepRow) -> StepDetails {
    let StepRow { begun, ending, .. } = row;
    StepDetails {
        id: begun.attempt.job,
        task: Some(begun.attempt.task).filter(|task| *task > 0),
        attempt: begun.attempt.attempt,
        step: row.step,
        name: begun.name,
        tasks: begun.n_tasks,
        procs: begun.procs,
        hosts: begun.hosts,
        started_at: format_iso(row.start),
        finished_at: row.finish.map(format_iso),
        exit_code: ending.map(|ending| ending.code),
        exit_signal: ending.and_then(|ending| ending.signal),
    }
}
