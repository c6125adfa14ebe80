//! Failed jobs that are submitted again, with all of their options but the deadline; and rejected ones that are quoted
//! again.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use tokio::sync::oneshot;
use tollgate_client::types::{ResubmitRequest, SubmitResponse};
use tollgate_gate::OnEviction;
use tollgate_service::{
    ArraySpec, AutoMemory, Submission, SubmissionOptions, TaskRanges, executable,
};
use tollgate_store::{JobFilter, JobProgram, JobRow, StoredProgram};

use super::convert;
use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::own_job;
use super::repeat::{Answer, KeyedPeer};
use super::state::{ApiState, query_controller, query_store};
use super::submission::{check_size, may_submit, submit_new};
use crate::access::Peer;
use crate::controller::{ControllerRequest, NewJob, RequestedTimes};

/// Submits a failed job again, or the tasks of an array that have failed so far.
pub(super) async fn resubmit(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    keyed: KeyedPeer,
    request: Result<Json<ResubmitRequest>, JsonRejection>,
) -> Result<Answer<SubmitResponse>, ApiError> {
    let Json(request) = request?;
    may_submit(&peer)?;
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    if tasks.is_some() {
        return Err(ApiError::field("id", "a job: its failed tasks are found"));
    }
    let due = convert::due(request.deadline_at.as_deref(), request.deadline_s)?;
    let deadline = convert::span("deadline_s", request.deadline_s)?;
    let row = own_job(&service, &peer, &JobSelector { job, tasks }).await?;
    if row.user != peer.user {
        return Err(ApiError::unknown_job());
    }
    let array = failed_tasks(&service, &row).await?;
    let program = query_store(&service, move |reader| reader.program(job)).await?;
    let program = match program {
        Some(StoredProgram::Whole(program)) => *program,
        Some(StoredProgram::Missing(text)) => {
            let error = format!("its {text} is no longer kept: submit it anew");
            let hint = "jobs that are over keep their latest texts only (limits.kept_bytes)";
            return Err(ApiError::new(StatusCode::CONFLICT, error).hint(hint));
        }
        None => return Err(has_not_failed(job)),
    };
    let submission = Submission {
        deadline,
        ..submission(&row, &program, array)?
    };
    check_size(&service, &submission)?;
    let (reply, verdict) = oneshot::channel();
    let job = NewJob {
        submission,
        times: RequestedTimes { due, begin: None },
        program: Box::new(JobProgram {
            begin: None,
            claim_key: None,
            unpredictable: None,
            auto_memory: program.auto_memory.map(|_| AutoMemory::default()),
            ..program
        }),
        reply,
    };
    submit_new(service, keyed, job, verdict).await
}

/// Returns what a rejected job would get now; None if an earlier version took it up.
pub(super) async fn quote_again(
    service: &ApiState,
    row: &JobRow,
) -> Result<Option<SubmitResponse>, ApiError> {
    let array = row.array.as_ref().map(|array| ArraySpec {
        tasks: array.tasks.clone(),
        max_at_once: array.max_at_once,
    });
    let known = row.program.as_ref();
    let Some(Ok(submission)) = known.map(|program| submission(row, program, array)) else {
        return Ok(None);
    };
    // A deadline that has passed counts anew.
    let due = row.due.filter(|due| *due > (service.clock)());
    let submission = Submission {
        deadline: row.due.map(|due| due.since(row.submit)),
        ..submission
    };
    let outcome = query_controller(service, |reply| ControllerRequest::Quote {
        submission,
        times: RequestedTimes { due, begin: None },
        with_levels: false,
        reply,
    });
    Ok(Some(service.submit_response(None, &outcome.await?)))
}

/// Returns the failed tasks of an array; None for a job of its own that has failed.
///
/// # Errors
/// If nothing has failed.
async fn failed_tasks(service: &ApiState, row: &JobRow) -> Result<Option<ArraySpec>, ApiError> {
    let job = row.id;
    let Some(array) = &row.array else {
        let only = JobFilter {
            failed: true,
            before: Some(job + 1),
            limit: 1,
            ..JobFilter::default()
        };
        let found = query_store(service, move |reader| reader.jobs(&only)).await?;
        return match found.iter().any(|found| found.id == job) {
            true => Ok(None),
            false => Err(has_not_failed(job)),
        };
    };
    let tasks: TaskRanges = query_store(service, move |reader| reader.failed_tasks(job)).await?;
    match tasks.is_empty() {
        true => Err(has_not_failed(job)),
        false => Ok(Some(ArraySpec {
            tasks,
            max_at_once: array.max_at_once,
        })),
    }
}

fn has_not_failed(job: u64) -> ApiError {
    let error = format!("job {job} has not failed, and no task of it has");
    ApiError::new(StatusCode::CONFLICT, error)
}

/// Returns the submission of a stored job, without its deadline and what it waited for.
///
/// # Errors
/// If an earlier version took up the job, which did not keep all of its options.
fn submission(
    row: &JobRow,
    program: &JobProgram,
    array: Option<ArraySpec>,
) -> Result<Submission, ApiError> {
    let kept = program.repeat.clone().ok_or_else(|| {
        let error =
            "an earlier version took up the job and did not keep its options: submit it anew";
        ApiError::new(StatusCode::CONFLICT, error)
    })?;
    Ok(Submission {
        user: row.user,
        name: row.name.clone(),
        executable: executable(&program.argv),
        account: row.account.clone(),
        queue: row.queue.clone(),
        procs: row.procs,
        memory: program.memory,
        estimate: Some(row.estimate).filter(|_| row.source == "user"),
        deadline: None,
        budget: row.budget,
        penalty: kept.penalty,
        confidence: kept.confidence,
        at_least: kept.at_least,
        retry: match kept.requeue {
            true => OnEviction::Requeue,
            false => OnEviction::Fail,
        },
        reserve_for: None,
        options: SubmissionOptions {
            array,
            otherwise: kept.otherwise,
            drop_late: kept.drop_late,
            partial: kept.partial,
            time_limit: program.time_limit,
            one_host: kept.one_host,
            host: kept.host,
            resources: kept.resources,
            retries: program.retries.clone(),
            give_up: program
                .give_up
                .as_deref()
                .and_then(|rule| rule.parse().ok()),
            ..SubmissionOptions::default()
        },
    })
}
