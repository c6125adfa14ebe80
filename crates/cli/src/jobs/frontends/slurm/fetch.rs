//! Jobs and tasks of the service as rows of Slurm's lists.

use jiff::Timestamp;

use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::{JobDetails, JobExplanation, JobList};
use tollgate_client::{ApiClient, PathWithQuery};
use tollgate_frontends::slurm::{SlurmJobName, SlurmRow, SlurmState};

use super::failure::{SlurmFailure, is_about_the_job};

/// The time for which finished jobs are listed, in seconds, as Slurm's `MinJobAge`.
pub(super) const MIN_JOB_AGE_S: i64 = 300;
/// The maximum number of jobs whose forecast is asked for in one call.
const MAX_FORECASTS: usize = 200;

/// Which rows a list has.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSelection {
    /// Whether the tasks of an array that wait are one row.
    pub(super) joins_waiting: bool,
    /// Since when jobs that are over are listed; None if none is.
    pub(super) over_since: Option<Timestamp>,
}

/// Returns the rows of all visible jobs that a filter may accept, ascending.
pub(super) fn all(
    client: &mut ApiClient,
    selection: RowSelection,
    filter: &RowFilter,
) -> Result<Vec<SlurmRow>, SlurmFailure> {
    let mut jobs = listed(client, selection, filter)?;
    jobs.sort_by_key(|job| job.id);
    jobs.dedup_by_key(|job| job.id);
    let mut rows = Vec::new();
    for job in jobs {
        rows.extend(rows_of(client, job, None, selection.joins_waiting)?);
    }
    rows.retain(|row| match selection.over_since {
        // A task of an array that runs may have ended long ago.
        Some(since) => !row.status.state.is_over() || ended_at(&row.job) >= Some(since),
        None => !row.status.state.is_over(),
    });
    Ok(rows)
}

/// Returns the jobs that are not over, and those that ended since the instant of the selection.
fn listed(
    client: &mut ApiClient,
    selection: RowSelection,
    filter: &RowFilter,
) -> Result<Vec<JobDetails>, SlurmFailure> {
    let only = |list: &[String]| match list {
        [one] => Some(one.clone()),
        _ => None,
    };
    let path = PathWithQuery::new(format!("/v1/jobs?limit={MAX_JOBS}"))
        .with_some("name", only(&filter.names))
        .with_some("account", only(&filter.accounts))
        .with_some("user", only(&filter.users).filter(|user| is_number(user)));
    let path = match selection.over_since {
        Some(since) => path.with("since", since),
        None => path.with("live", true),
    };
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page: JobList = client.get(&path.clone().with_some("before", before).to_string())?;
        let last = page.jobs.iter().map(|job| job.id).min();
        found.extend(page.jobs);
        before = last.filter(|_| page.more);
        if before.is_none() {
            return Ok(found);
        }
    }
}

/// Returns whether a user is typed by number, which the service need not look up.
fn is_number(user: &str) -> bool {
    user.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the instant of the end, or of the rejection.
fn ended_at(job: &JobDetails) -> Option<Timestamp> {
    let at = job.finished_at.as_deref().or(job.decided_at.as_deref());
    at.unwrap_or(&job.submitted_at).parse().ok()
}

/// Returns the rows of the job or tasks that a name stands for. None if there is no such job.
pub(super) fn named(
    client: &mut ApiClient,
    name: &SlurmJobName,
    joins_waiting: bool,
) -> Result<Option<Vec<SlurmRow>>, SlurmFailure> {
    let job = match client.get::<JobDetails>(&format!("/v1/jobs/{}", name.number)) {
        Ok(job) => job,
        Err(error) if is_about_the_job(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if job.task.is_some() {
        // The whole number of a task.
        let array = client.get::<JobDetails>(&format!("/v1/jobs/{}", job.id))?;
        return Ok(Some(SlurmRow::of_array(&array, vec![job], false)));
    }
    let rows = rows_of(client, job, name.tasks.as_deref(), joins_waiting)?;
    Ok(Some(rows).filter(|rows| name.tasks.is_none() || !rows.is_empty()))
}

fn rows_of(
    client: &mut ApiClient,
    job: JobDetails,
    tasks: Option<&str>,
    joins_waiting: bool,
) -> Result<Vec<SlurmRow>, SlurmFailure> {
    if job.array.is_none() {
        let has_tasks = tasks.is_some();
        return Ok(SlurmRow::of_job(job)
            .filter(|_| !has_tasks)
            .into_iter()
            .collect());
    }
    let selector = match tasks {
        Some(tasks) => format!("{}_{tasks}", job.id),
        None => job.id.to_string(),
    };
    let path = format!("/v1/jobs/{selector}/tasks?limit={MAX_JOBS}");
    match client.get::<JobList>(&path) {
        Ok(list) => Ok(SlurmRow::of_array(&job, list.jobs, joins_waiting)),
        Err(error) if is_about_the_job(&error) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Adds the forecasts of jobs that are not over.
pub(super) fn add_forecasts(
    client: &mut ApiClient,
    rows: &mut [SlurmRow],
) -> Result<(), SlurmFailure> {
    let unfinished = rows.iter_mut().filter(|row| !row.status.state.is_over());
    for row in unfinished.take(MAX_FORECASTS) {
        let selector = match row.job.task.filter(|_| row.is_of_array) {
            Some(task) => format!("{}_{task}", row.job.id),
            None => row.job.id.to_string(),
        };
        match client.get::<JobExplanation>(&format!("/v1/jobs/{selector}/explain")) {
            Ok(explained) => row.forecast = explained.expected,
            // It may have been removed meanwhile.
            Err(error) if is_about_the_job(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Which rows of a list are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct RowFilter {
    /// Names or numbers of users; empty for all.
    pub(super) users: Vec<String>,
    /// Names of jobs; empty for all.
    pub(super) names: Vec<String>,
    /// Partitions; empty for all.
    pub(super) partitions: Vec<String>,
    /// Accounts; empty for all.
    pub(super) accounts: Vec<String>,
    /// Hosts; empty for all.
    pub(super) hosts: Vec<String>,
    /// States; None for all.
    pub(super) states: Option<Vec<SlurmState>>,
}

impl RowFilter {
    /// Returns whether a row is shown.
    pub(super) fn accepts(&self, row: &SlurmRow) -> bool {
        let job = &row.job;
        let has =
            |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
        let of_user = self.users.is_empty()
            || self
                .users
                .iter()
                .any(|user| *user == job.user || *user == job.user_id.to_string());
        let partition = job.queue.as_deref();
        let partition = partition.unwrap_or(tollgate_frontends::slurm::DEFAULT_PARTITION);
        // Partitions are labels, of which a job may name several.
        let of_partition = self.partitions.is_empty()
            || partition.split(',').any(|one| has(&self.partitions, one));
        of_user
            && of_partition
            && has(&self.names, &job.name)
            && has(&self.accounts, job.account.as_deref().unwrap_or_default())
            && (self.hosts.is_empty() || row.hosts().into_iter().any(|host| has(&self.hosts, host)))
            && self
                .states
                .as_ref()
                .is_none_or(|states| states.contains(&row.status.state))
    }
}

/// Splits a list of words at its commas.
pub(super) fn words(list: &str) -> Vec<String> {
    let words = list.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the number of the user who calls, as a filter takes it.
pub(super) fn own_user() -> String {
    rustix::process::geteuid().as_raw().to_string()
}
