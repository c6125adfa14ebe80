//! The handlers for records of jobs and of the ledger, page by page.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::records::{
    CauseOfEvictions, EvictionPage, EvictionRecord, EvictionReport, JobPage, LedgerPage,
    LedgerRecord, LoginPage, LoginRecord,
};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{HostUseCause, WireWord};
use tollgate_model::{AttemptId, Credits, Instant};
use tollgate_service::TaskRanges;
use tollgate_store::{JobRow, RecordFilter, StoreError, StoreReader};

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::with_names;
use super::state::{ApiState, JsonResult, query_store, visible_user};
use super::usage;
use crate::access::Peer;

/// Number of records in a page without `limit`.
const PAGE: u32 = 1_000;
/// Maximum number of records in a page.
const MAX_PAGE: u32 = 10_000;

/// The requested page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    /// The `next` of the page before.
    after: Option<String>,
    /// First day, in UTC: `2026-12-01`.
    since: Option<String>,
    /// Last day, in UTC.
    until: Option<String>,
    /// Maximum number of records: 1,000 if left out, at most 10,000.
    limit: Option<u32>,
}

/// A page of jobs, and the last job of the page if more may follow.
type JobRows = (Vec<JobRow>, Option<String>);

/// Lists the jobs that ended on some days, in the order of their numbers. An array is listed as its
/// tasks, once it is over.
pub(super) async fn jobs(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> JsonResult<JobPage> {
    let Query(query) = query?;
    let after = match &query.after {
        None => JobSelector {
            job: 0,
            tasks: None,
        },
        Some(word) => JobSelector::parse(word).map_err(|_| bad_cursor())?,
    };
    let (filter, limit) = query.filter(&peer)?;
    let page = query_store(&service, move |reader| {
        job_page(reader, &filter, &after, limit)
    });
    let (rows, next) = page.await?;
    let jobs = with_names(&service, rows).await?;
    Ok(Json(JobPage { jobs, next }))
}

fn job_page(
    reader: &StoreReader,
    filter: &RecordFilter,
    after: &JobSelector,
    limit: u32,
) -> Result<JobRows, StoreError> {
    let mut page = Vec::new();
    // The rest of an array that began on the page before.
    if let Some(task) = after.task()
        && let Some(row) = reader.job(after.job)?
        && filter.user.is_none_or(|user| row.user == user)
    {
        add_tasks(reader, &mut page, after.job, task.checked_add(1), limit)?;
    }
    let room = (limit as usize).saturating_sub(page.len());
    let rows = reader.ended_jobs(filter, after.job, room as u32)?;
    let mut is_last = room > 0 && rows.len() < room;
    for row in rows {
        if page.len() >= limit as usize {
            is_last = false;
            break;
        }
        match row.array {
            Some(_) => {
                let left = limit - page.len() as u32;
                is_last &= add_tasks(reader, &mut page, row.id, Some(0), left)?;
            }
            None => page.push(row),
        }
    }
    let last = page.last().filter(|_| !is_last);
    let next = last.map(|row| match row.task {
        Some(task) => format!("{}_{task}", row.id),
        None => row.id.to_string(),
    });
    Ok((page, next))
}

/// Adds tasks of an array from `first` on, at most `limit`. Returns whether these are all.
fn add_tasks(
    reader: &StoreReader,
    page: &mut Vec<JobRow>,
    job: u64,
    first: Option<u32>,
    limit: u32,
) -> Result<bool, StoreError> {
    let Some(first) = first else {
        return Ok(true);
    };
    let ranges = TaskRanges::new(first, u32::MAX);
    let tasks = reader.tasks(job, Some(&ranges), limit)?.unwrap_or_default();
    let is_all = tasks.len() < limit as usize;
    page.extend(tasks);
    Ok(is_all)
}

/// Lists entries of the ledger, in the order of jobs, tasks and attempts.
pub(super) async fn ledger(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> JsonResult<LedgerPage> {
    let Query(query) = query?;
    let after = match &query.after {
        None => (0, 0, 0, String::new()),
        Some(word) => ledger_key(word).ok_or_else(bad_cursor)?,
    };
    let (filter, limit) = query.filter(&peer)?;
    let names = service.names.clone();
    let page = query_store(&service, move |reader| {
        let rows = reader.ledger_entries(&filter, &after, limit)?;
        let last = rows.last().filter(|_| rows.len() == limit as usize);
        let next = last.map(|row| format!("{}.{}.{}.{}", row.job, row.task, row.attempt, row.kind));
        let entries = rows.into_iter().map(|row| LedgerRecord {
            job: row.job,
            task: row.task,
            attempt: row.attempt,
            kind: WireWord::from_key(&row.kind),
            booked_at: format_iso(row.at),
            user_id: names.uid(row.user),
            user: names.name(row.user),
            amount: Credits::as_f64(row.amount),
        });
        Ok(LedgerPage {
            entries: entries.collect(),
            next,
        })
    });
    Ok(Json(page.await?))
}

/// Lists evictions, in the order of jobs, tasks and attempts.
pub(super) async fn evictions(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> JsonResult<EvictionPage> {
    let Query(query) = query?;
    let after = match &query.after {
        None => AttemptId {
            job: 0,
            task: 0,
            attempt: 0,
        },
        Some(word) => attempt_key(word).ok_or_else(bad_cursor)?,
    };
    let (filter, limit) = query.filter(&peer)?;
    let page = query_store(&service, move |reader| {
        let rows = reader.evictions_after(&filter, after, limit)?;
        let last = rows.last().filter(|_| rows.len() == limit as usize);
        let next = last.map(|row| row.attempt.to_string());
        let evictions = rows.into_iter().map(|row| EvictionRecord {
            job: row.attempt.job,
            task: row.attempt.task,
            attempt: row.attempt.attempt,
            computer: row.host,
            at: format_iso(row.at),
            cause: HostUseCause::from(row.cause).into(),
            held_s: row.held.as_secs_f64(),
        });
        Ok(EvictionPage {
            evictions: evictions.collect(),
            next,
        })
    });
    Ok(Json(page.await?))
}

/// Sums evictions by cause, and abandoned tasks.
pub(super) async fn eviction_report(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<EvictionReport> {
    let sums = query_store(&service, move |reader| {
        reader.eviction_sums(visible_user(&peer))
    });
    let sums = sums.await?;
    let by_cause = sums.by_cause.into_iter();
    let by_cause = by_cause.map(|(cause, evictions, held)| CauseOfEvictions {
        cause: HostUseCause::from(cause).into(),
        evictions,
        held_s: held.as_secs_f64(),
    });
    Ok(Json(EvictionReport {
        by_cause: by_cause.collect(),
        abandoned: sums.abandoned,
        abandoned_held_s: sums.abandoned_held.as_secs_f64(),
    }))
}

/// Lists the times in which computers were in use, by computer and begin. Only operators see them.
pub(super) async fn logins(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> JsonResult<LoginPage> {
    let Query(query) = query?;
    let after = match &query.after {
        None => (String::new(), Instant::ZERO),
        Some(word) => login_key(word).ok_or_else(bad_cursor)?,
    };
    let (filter, limit) = query.filter(&peer)?;
    if filter.user.is_some() {
        let error = "only root and the service's own user see when computers were in use";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let page = query_store(&service, move |reader| {
        let rows = reader.host_uses(&filter, &after, limit)?;
        let last = rows.last().filter(|_| rows.len() == limit as usize);
        let next = last.map(|row| format!("{}.{}", row.from.as_micros(), row.host));
        let logins = rows.into_iter().map(|row| LoginRecord {
            computer: row.host,
            login: format_iso(row.from),
            logout: row.until.map(format_iso),
            cause: HostUseCause::from(row.cause).into(),
        });
        Ok(LoginPage {
            logins: logins.collect(),
            next,
        })
    });
    Ok(Json(page.await?))
}

/// Parses the place of an eviction: job, task and attempt.
fn attempt_key(word: &str) -> Option<AttemptId> {
    let mut parts = word.split('.');
    let job = parts.next()?.parse().ok();
    let attempt = AttemptId {
        job: job.filter(|&job: &u64| job <= super::job_selector::MAX_ID)?,
        task: parts.next()?.parse().ok()?,
        attempt: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(attempt)
}

/// Parses the place of a log-in: its begin and the computer.
fn login_key(word: &str) -> Option<(String, Instant)> {
    let (from, host) = word.split_once('.')?;
    let from = from.parse().ok()?;
    Some((host.to_owned(), Instant::from_micros(from)))
}

/// Parses the place of an entry: job, task, attempt and kind.
fn ledger_key(word: &str) -> Option<(u64, u32, u32, String)> {
    let mut parts = word.splitn(4, '.');
    let job = parts
        .next()?
        .parse()
        .ok()
        .filter(|&job: &u64| job <= super::job_selector::MAX_ID)?;
    let task = parts.next()?.parse().ok()?;
    let attempt = parts.next()?.parse().ok()?;
    Some((job, task, attempt, parts.next()?.to_owned()))
}

fn bad_cursor() -> ApiError {
    ApiError::field("after", "the `next` of another page")
}

impl PageQuery {
    fn filter(&self, peer: &Peer) -> Result<(RecordFilter, u32), ApiError> {
        let limit = self.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let filter = usage::filter(peer, self.since.as_deref(), self.until.as_deref())?;
        Ok((filter, limit))
    }
}
