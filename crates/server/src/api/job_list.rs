//! The list of jobs, by what their users know of them.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::limits::{AT_RISK, MAX_JOBS, MAX_LISTED_IDS};
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{
    JobDetails, JobList, JobState, PromiseSelection, WireVocabulary, WireWord,
};
use tollgate_model::Instant;
use tollgate_store::{JobFilter, JobRow, PromiseFilter};

use super::error::ApiError;
use super::job_selector::{JobSelector, MAX_ID};
use super::jobs::{add_expectations, list};
use super::state::{ApiState, JsonResult, query_store, visible_user};
use crate::access::Peer;

/// The requested jobs: those to which all that is given applies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsQuery {
    /// Only these, separated by commas, at most 1000 of them: `7`, `7_3`, or `1000000002` for the same as `7_3`.
    /// Unknown ones are left out. A task of an array is listed as a job of its own.
    #[schemars(regex(pattern = "^[0-9]+(_[0-9]+)?(,[0-9]+(_[0-9]+)?)*$"))]
    ids: Option<String>,
    /// Only those of this name.
    name: Option<String>,
    /// Only those of this user, by name or number.
    user: Option<String>,
    /// Only those of this account.
    account: Option<String>,
    /// Only those of this queue.
    queue: Option<String>,
    /// Only those in this state.
    #[schemars(with = "Option<JobState>")]
    state: Option<WireWord<JobState>>,
    /// Only those that are not over.
    #[serde(default)]
    live: bool,
    /// With the expected start and end of each that is not over, all from one look ahead: as `explain` gives them for one.
    #[serde(default)]
    expect: bool,
    /// Only those that failed: another exit code than 0, ended by a limit, or lost; arrays with such tasks.
    #[serde(default)]
    failed: bool,
    /// Only those with this promise; `at_risk` adds what is expected of each.
    #[schemars(with = "Option<PromiseSelection>")]
    promise: Option<WireWord<PromiseSelection>>,
    /// Only those that are not over, or ended at this instant or later.
    since: Option<String>,
    /// Only those that were submitted before this instant.
    until: Option<String>,
    /// Only those before this number.
    before: Option<u64>,
    /// The maximum number of entries: 100 if left out, at most 10,000.
    limit: Option<u32>,
}

/// Lists jobs, latest first; behind them the tasks that are named.
pub(super) async fn jobs(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<JobsQuery>, QueryRejection>,
) -> JsonResult<JobList> {
    let Query(query) = query?;
    if let Some(WireWord::Unknown(_)) = query.state {
        let states: Vec<&str> = JobState::ALL.iter().map(|state| state.key()).collect();
        return Err(ApiError::field(
            "state",
            &format!("one of {}", states.join(", ")),
        ));
    }
    if let Some(WireWord::Unknown(_)) = query.promise {
        let promises: Vec<&str> = PromiseSelection::ALL.iter().map(|one| one.key()).collect();
        let expected = format!("one of {}", promises.join(", "));
        return Err(ApiError::field("promise", &expected));
    }
    let promise = query.promise.as_ref().and_then(WireWord::known);
    let is_at_risk = promise == Some(PromiseSelection::AtRisk);
    let limit = query.limit.unwrap_or(100).min(MAX_JOBS);
    let named = named(&service, query.ids.as_deref()).await?;
    let user = match query.user {
        Some(word) => Some(user(&service, word).await?),
        None => None,
    };
    let visible = visible_user(&peer);
    if visible.is_some_and(|own| user.is_some_and(|user| user != own)) {
        return list(&service, Vec::new(), limit).await;
    }
    let jobs = named.as_ref().map(|named| {
        let jobs = named.iter().filter(|job| job.tasks.is_none());
        jobs.map(|job| job.job).collect()
    });
    let selection = JobFilter {
        user: visible.or(user),
        ids: jobs,
        name: query.name,
        account: query.account,
        queue: query.queue,
        state: query.state.map(|state| state.key().to_owned()),
        unfinished: query.live || is_at_risk,
        failed: query.failed,
        promise: promise.map(promise_filter),
        since: instant("since", query.since.as_deref())?,
        until: instant("until", query.until.as_deref())?,
        before: query.before.map(|before| before.min(MAX_ID)),
        // Which of them are at risk is known only later.
        limit: if is_at_risk { MAX_JOBS } else { limit + 1 },
    };
    let tasks = named.unwrap_or_default();
    let tasks = tasks.into_iter().filter(|job| job.tasks.is_some());
    let tasks: Vec<JobSelector> = tasks.collect();
    let rows = query_store(&service, move |reader| {
        let mut rows = reader.jobs(&selection)?;
        for task in tasks {
            if rows.len() >= selection.limit as usize {
                break;
            }
            let found = reader.tasks(task.job, task.tasks.as_ref(), 1)?;
            let found: Vec<JobRow> = found.unwrap_or_default();
            rows.extend(found.into_iter().filter(|row| selection.matches(row)));
        }
        Ok(rows)
    });
    let listed = if is_at_risk { MAX_JOBS } else { limit };
    let Json(mut list) = list(&service, rows.await?, listed).await?;
    if query.expect || is_at_risk {
        add_expectations(&service, &mut list.jobs).await?;
    }
    if is_at_risk {
        list.jobs.retain(is_job_at_risk);
        list.more = list.jobs.len() > limit as usize;
        list.jobs.truncate(limit as usize);
    }
    Ok(Json(list))
}

/// Returns whether the deadline of a promised job may well be missed, by what is expected of the job. A promise that is
/// broken already is at risk no more.
fn is_job_at_risk(job: &JobDetails) -> bool {
    let expected = job.expected.as_ref().filter(|_| job.promise.is_none());
    let probability = expected.and_then(|expected| expected.probability);
    probability.is_some_and(|probability| probability < AT_RISK)
}

const fn promise_filter(promise: PromiseSelection) -> PromiseFilter {
    match promise {
        PromiseSelection::AtRisk => PromiseFilter::Promised,
        PromiseSelection::Kept => PromiseFilter::Kept,
        PromiseSelection::Broken => PromiseFilter::Broken,
        PromiseSelection::Void => PromiseFilter::Void,
        PromiseSelection::None => PromiseFilter::NotPromised,
    }
}

/// Returns the jobs and the tasks that a list names, each once. Numbers that no task has are left out.
async fn named(
    service: &ApiState,
    ids: Option<&str>,
) -> Result<Option<Vec<JobSelector>>, ApiError> {
    let Some(ids) = ids else {
        return Ok(None);
    };
    let words: Vec<&str> = ids.split(',').collect();
    if words.len() > MAX_LISTED_IDS {
        return Err(ApiError::field("ids", "at most 1000 jobs and tasks"));
    }
    let expected = "numbers of jobs or tasks, as in 7,8_3";
    let mut selectors: Vec<JobSelector> = Vec::new();
    for word in words {
        let typed = JobSelector::parse(word).map_err(|_| ApiError::field("ids", expected))?;
        if typed.tasks.is_some() && typed.task().is_none() {
            return Err(ApiError::field("ids", expected));
        }
        let Ok(found) = JobSelector::find(service, word).await else {
            continue;
        };
        if !selectors.contains(&found) {
            selectors.push(found);
        }
    }
    Ok(Some(selectors))
}

/// Returns the user with a name or number. The system's name service may take its time.
async fn user(service: &ApiState, word: String) -> Result<u32, ApiError> {
    let names = service.names.clone();
    let found = tokio::task::spawn_blocking(move || names.find(&word)).await;
    let found = found.map_err(|_| ApiError::stopping())?;
    found.ok_or_else(|| ApiError::field("user", "the name or number of a user of this system"))
}

pub(super) fn instant(field: &str, text: Option<&str>) -> Result<Option<Instant>, ApiError> {
    let expected = "an instant as in 2026-12-01T09:00:00Z";
    let at = text.map(|text| parse_iso(text).map_err(|_| ApiError::field(field, expected)));
    at.transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn promise_below_the_bound_is_at_risk_until_it_is_broken() {
        let job = |probability: f64, promise: Option<&str>| -> JobDetails {
            let at = "2026-12-01T09:00:00Z";
            let job = json!({
                "id": 1, "user_id": 0, "name": "a", "state": "running", "command": ["true"], "dir": "/", "procs": 1,
                "submitted_at": at, "estimate_s": 1.0, "estimate_source": "user", "attempts": 1, "promise": promise,
                "expected": {"expected_start_at": at, "expected_finish_at": at, "earliest_finish_at": at,
                    "latest_finish_at": at, "probability": probability},
            });
            serde_json::from_value(job).expect("a job")
        };
        assert!(is_job_at_risk(&job(0.79, None)));
        assert!(!is_job_at_risk(&job(0.8, None)));
        assert!(!is_job_at_risk(&job(0.01, Some("broken"))));
    }
}
