//! Jobs and tasks: lists, details, explanations, waits and commands.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::{
    HostUseCause, JobDetails, JobExplanation, JobList, JobRef, JobState, WaitMessage,
    WireVocabulary,
};
use tollgate_model::TaskId;
use tollgate_service::{ServiceCommand, TaskRanges};
use tollgate_store::{JobFilter, JobRow};

use super::array_tasks::with_outlook;
use super::convert;
use super::error::ApiError;
use super::explain::{
    PredecessorEnd, QueueingEngine, attempt_sentences, auto_memory_sentence, cause_sentence,
    dropped_sentence, eviction_sentences, explanation_sentences, failed_predecessor,
    grant_sentence,
};
use super::job_selector::JobSelector;
use super::repeat::{KeyedPeer, receive};
use super::resubmit::quote_again;
use super::state::{ApiState, JsonResult, query_controller, query_store, visible_user};
use super::submission::done;
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// Returns the first `limit` of the rows as a list, which says whether there are more.
pub(super) async fn list(
    service: &ApiState,
    mut rows: Vec<JobRow>,
    limit: u32,
) -> JsonResult<JobList> {
    let limit = limit as usize;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let jobs = with_names(service, rows).await?;
    Ok(Json(JobList {
        jobs,
        array: None,
        more,
    }))
}

pub(super) async fn job(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<JobDetails> {
    let row = own_job(&service, &peer, &JobSelector::find(&service, &id).await?).await?;
    Ok(Json(with_outlook(&service, row).await?))
}

/// The selection of tasks in a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TasksQuery {
    /// Only those that failed: another exit code than 0, ended by a limit, or lost.
    #[serde(default)]
    failed: bool,
    /// With the expected start and end of each that is not over.
    #[serde(default)]
    expect: bool,
    /// The maximum number of entries: 100 if left out, at most 10,000.
    limit: Option<u32>,
}

/// Lists the tasks of an array, each as a job; of a job that is no array the job.
pub(super) async fn tasks(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    few: Result<Query<TasksQuery>, QueryRejection>,
) -> JsonResult<JobList> {
    let Query(few) = few?;
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    let whole = JobSelector { job, tasks: None };
    let row = own_job(&service, &peer, &whole).await?;
    let limit = few.limit.unwrap_or(100).min(MAX_JOBS);
    if row.array.is_none() && tasks.is_none() {
        let only = JobFilter {
            failed: few.failed,
            before: Some(job + 1),
            limit: 1,
            ..JobFilter::default()
        };
        let mut rows = query_store(&service, move |reader| reader.jobs(&only)).await?;
        rows.retain(|row| row.id == job);
        let Json(mut list) = list(&service, rows, limit).await?;
        if few.expect {
            add_expectations(&service, &mut list.jobs).await?;
        }
        return Ok(Json(list));
    }
    let rows = query_store(&service, move |reader| {
        if !few.failed {
            return reader.tasks(job, tasks.as_ref(), limit + 1);
        }
        let failed = reader.failed_tasks(job)?;
        let failed = tasks.map_or_else(|| failed.clone(), |tasks| tasks.intersection(&failed));
        reader.tasks(job, Some(&failed), limit + 1)
    });
    let rows = rows.await?.ok_or_else(|| {
        let error = "this job is not an array: it has no tasks";
        ApiError::new(StatusCode::NOT_FOUND, error)
    })?;
    let Json(mut list) = list(&service, rows, limit).await?;
    if few.expect {
        add_expectations(&service, &mut list.jobs).await?;
    }
    let array = with_outlook(&service, row).await?;
    Ok(Json(JobList {
        array: Some(Box::new(array)),
        ..list
    }))
}

pub(super) async fn explain(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<JobExplanation> {
    let row = own_job(&service, &peer, &JobSelector::find(&service, &id).await?).await?;
    let task = TaskId {
        job: row.id,
        task: row.task.unwrap_or(0),
    };
    let task_outlook =
        query_controller(&service, |reply| ControllerRequest::Explain { task, reply }).await?;
    let granted = query_store(&service, move |reader| reader.grant(task.job)).await?;
    let attempts = match row.array {
        None => query_store(&service, move |reader| reader.task_attempts(task)).await?,
        Some(_) => Vec::new(),
    };
    let of_task = row.task;
    let evictions =
        query_store(&service, move |reader| reader.evictions(task.job, of_task)).await?;
    let abandonments = query_store(&service, move |reader| reader.abandonments(task.job)).await?;
    let abandonments: Vec<_> = abandonments
        .into_iter()
        .filter(|one| of_task.is_none_or(|task| task == one.task))
        .collect();
    let quote = match row.state == JobState::Rejected.key() {
        true => quote_again(&service, &row).await?,
        false => None,
    };
    let job = with_outlook(&service, row).await?;
    let granted = match granted {
        Some((at, by, reason)) => {
            let names = service.names.clone();
            let by = tokio::task::spawn_blocking(move || names.name(by)).await;
            let by = by.map_err(|_| ApiError::stopping())?;
            Some(grant_sentence(at, &by, &reason))
        }
        None => None,
    };
    let predecessor = match failed_predecessor(&job) {
        Some(by) => query_store(&service, move |reader| reader.job(by)).await?,
        None => None,
    };
    let predecessor = predecessor.and_then(|row| {
        let state = JobState::from_key(&row.state)?;
        let succeeded = state == JobState::Finished && row.status.as_deref() == Some("exit 0");
        Some(PredecessorEnd { state, succeeded })
    });
    let queueing = service.info.batch_system.as_ref().and_then(|system| {
        let (kind, reason) = (system.kind(), system.wait_reason(task)?);
        Some(QueueingEngine { kind, reason })
    });
    let expected = match &job.array {
        Some(array) => array
            .outlook
            .as_ref()
            .and_then(|outlook| outlook.expected.clone()),
        None => {
            let prospect = task_outlook
                .as_ref()
                .and_then(|task_outlook| task_outlook.prediction.as_ref());
            prospect.map(convert::job_forecast)
        }
    };
    Ok(Json(JobExplanation {
        words: explanation_sentences(&job, task_outlook.as_ref(), predecessor, queueing.as_ref())
            .into_iter()
            .chain(job.unpredictable.as_ref().map(|run| run.text.clone()))
            .chain(auto_memory_sentence(&job))
            .chain(attempt_sentences(&attempts))
            .chain(eviction_sentences(&evictions, &abandonments))
            .chain(granted)
            .chain(dropped_sentence(&job))
            .collect(),
        expected,
        quote,
        job,
    }))
}

/// The event that a request waits for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Waits only until the job is admitted or rejected.
    #[serde(default)]
    decision: bool,
}

/// Answers once the job is finished or decided.
pub(super) async fn wait(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    until: Result<Query<WaitQuery>, QueryRejection>,
) -> JsonResult<JobDetails> {
    let Query(until) = until?;
    let which = JobSelector::find(&service, &id).await?;
    let row = own_job(&service, &peer, &which).await?;
    let waited = query_controller(&service, |reply| ControllerRequest::Wait {
        job: row.id,
        task: row.task,
        reply,
        decided: until.decision,
    });
    tokio::select! {
        waited = waited => waited?,
        // The client has to ask the restarted service again.
        () = service.log.closed() => return Err(ApiError::stopping()),
    }
    let row = own_job(&service, &peer, &which).await?;
    Ok(Json(with_outlook(&service, row).await?))
}

pub(super) async fn cancel(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
    keyed: KeyedPeer,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, keyed, |job, tasks| {
        ServiceCommand::Cancel { job, tasks }
    })
    .await
}

pub(super) async fn hold(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
    keyed: KeyedPeer,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, keyed, |job, tasks| {
        ServiceCommand::Hold { job, tasks }
    })
    .await
}

pub(super) async fn release(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
    keyed: KeyedPeer,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, keyed, |job, tasks| {
        ServiceCommand::Release { job, tasks }
    })
    .await
}

pub(super) async fn requeue(
    service: State<ApiState>,
    peer: Extension<Peer>,
    id: Path<String>,
    keyed: KeyedPeer,
) -> JsonResult<JobRef> {
    run_command(service, peer, id, keyed, |job, tasks| {
        ServiceCommand::Requeue { job, tasks }
    })
    .await
}

async fn run_command(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    keyed: KeyedPeer,
    command: fn(u64, Option<TaskRanges>) -> ServiceCommand,
) -> JsonResult<JobRef> {
    let JobSelector { job, tasks } = JobSelector::find(&service, &id).await?;
    let (reply, carried_out) = oneshot::channel();
    let request = ControllerRequest::Command {
        user: visible_user(&peer),
        command: command(job, tasks),
        reply,
    };
    let request = keyed.wrap(request, move |results| done(results, job));
    service.controller_handle.send(request);
    match receive(carried_out).await {
        Ok(Some(())) => Ok(Json(JobRef { id: job })),
        Ok(None) => Ok(keyed.stored(&service).await?.1),
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            // The controller knows no job that is over; the store does.
            let whole = JobSelector { job, tasks: None };
            own_job(&service, &peer, &whole).await?;
            Err(ApiError::job_is_over())
        }
        Err(error) => Err(error),
    }
}

/// Returns a job, or one task, that the peer may see. A job of another user counts as unknown.
pub(super) async fn own_job(
    service: &ApiState,
    peer: &Peer,
    which: &JobSelector,
) -> Result<JobRow, ApiError> {
    let (job, tasks) = (which.job, which.tasks.clone());
    if tasks.is_some() && which.task().is_none() {
        return Err(ApiError::field("id", "a job, or one task of it"));
    }
    let row = query_store(service, move |reader| match &tasks {
        None => reader.job(job),
        Some(_) => {
            let tasks = reader.tasks(job, tasks.as_ref(), 1)?;
            Ok(tasks.unwrap_or_default().pop())
        }
    });
    let row = row.await?;
    row.filter(|row| visible_user(peer).is_none_or(|user| row.user == user))
        .ok_or_else(ApiError::unknown_job)
}

/// Converts stored jobs, with the names of their users. The system's name service may take its time.
pub(super) async fn with_names(
    service: &ApiState,
    rows: Vec<JobRow>,
) -> Result<Vec<JobDetails>, ApiError> {
    let names = service.names.clone();
    let named = tokio::task::spawn_blocking(move || {
        let named = |mut row: JobRow| {
            let user = names.facts(row.user);
            row.user = names.uid(row.user);
            convert::job_details(row, user)
        };
        rows.into_iter().map(named).collect()
    });
    let mut jobs: Vec<JobDetails> = named.await.map_err(|_| ApiError::stopping())?;
    add_wait_reasons(service, &mut jobs).await?;
    add_suspensions(service, &mut jobs).await?;
    Ok(jobs)
}

/// Adds to jobs that run why they are suspended, if they are.
async fn add_suspensions(service: &ApiState, jobs: &mut [JobDetails]) -> Result<(), ApiError> {
    let runs = |job: &&mut JobDetails| job.state == JobState::Running && job.array.is_none();
    let mut running: Vec<&mut JobDetails> = jobs.iter_mut().filter(runs).collect();
    if running.is_empty() {
        return Ok(());
    }
    let id = |job: &&mut JobDetails| TaskId {
        job: job.id,
        task: job.task.unwrap_or(0),
    };
    let tasks = running.iter().map(id).collect();
    let causes = query_controller(service, |reply| ControllerRequest::Suspensions {
        tasks,
        reply,
    });
    for (job, cause) in running.iter_mut().zip(causes.await?) {
        job.suspended = cause.map(|cause| HostUseCause::from(cause).into());
    }
    Ok(())
}

/// Adds to jobs that wait what they wait for.
async fn add_wait_reasons(service: &ApiState, jobs: &mut [JobDetails]) -> Result<(), ApiError> {
    let mut waiting: Vec<&mut JobDetails> = jobs.iter_mut().filter(|job| waits(job)).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let named = waiting.iter().map(|job| (job.id, job.task)).collect();
    let causes = query_controller(service, |reply| ControllerRequest::WaitCauses {
        jobs: named,
        reply,
    });
    for (job, facts) in waiting.iter_mut().zip(causes.await?) {
        job.waits_for = facts.map(|facts| WaitMessage {
            key: convert::wait_reason(facts.cause).into(),
            text: cause_sentence(job.procs, &facts),
        });
    }
    Ok(())
}

/// Adds to jobs that are not over what is expected of each, from one look ahead.
pub(super) async fn add_expectations(
    service: &ApiState,
    jobs: &mut [JobDetails],
) -> Result<(), ApiError> {
    let mut live: Vec<&mut JobDetails> = jobs
        .iter_mut()
        .filter(|job| job.finished_at.is_none())
        .collect();
    if live.is_empty() {
        return Ok(());
    }
    let named = live.iter().map(|job| (job.id, job.task)).collect();
    let predictions = query_controller(service, |reply| ControllerRequest::Predict {
        jobs: named,
        reply,
    });
    for (job, prediction) in live.iter_mut().zip(predictions.await?) {
        job.expected = prediction.as_ref().map(convert::job_forecast);
    }
    Ok(())
}

/// Returns whether a job waits, or a task of an array.
fn waits(job: &JobDetails) -> bool {
    match (job.state.known(), &job.array) {
        (Some(JobState::Dependent | JobState::Queued | JobState::Held), _) => true,
        (Some(JobState::Running), Some(array)) => array.queued + array.held > 0,
        (
            Some(
                JobState::Running
                | JobState::Finished
                | JobState::TimedOut
                | JobState::OutOfMemory
                | JobState::OutputLimit
                | JobState::Cancelled
                | JobState::Lost
                | JobState::Abandoned
                | JobState::Rejected
                | JobState::Reserved
                | JobState::Expired,
            )
            | None,
            _,
        ) => false,
    }
}

/// Converts a stored job, with the name of its user.
pub(super) async fn with_name(service: &ApiState, row: JobRow) -> Result<JobDetails, ApiError> {
    let mut named = with_names(service, vec![row]).await?;
    named.pop().ok_or_else(ApiError::unknown_job)
}
