//! Jobs that are not over.

use crate::types::{JobList, JobRef};
use crate::{ApiClient, ClientError};

/// The number of jobs that one request asks for.
const PAGE: usize = 10_000;
/// The HTTP statuses of jobs that do not exist, or are over.
const GONE: [u16; 2] = [404, 409];

/// Returns the numbers of the jobs from `first` to `last` that are not over, ascending; those of one user if a
/// user id is given.
///
/// # Errors
/// If the service cannot be reached.
pub fn unfinished_jobs(
    client: &mut ApiClient,
    user: Option<u32>,
    first: u64,
    last: u64,
) -> Result<Vec<u64>, ClientError> {
    let mut found = Vec::new();
    let mut before = last.checked_add(1);
    loop {
        let below = before.map_or_else(String::new, |before| format!("&before={before}"));
        let page: JobList = client.get(&format!("/v1/jobs?live=true&limit={PAGE}{below}"))?;
        let is_last = page.jobs.len() < PAGE || page.jobs.iter().any(|job| job.id < first);
        before = page.jobs.last().map(|job| job.id);
        let own = page
            .jobs
            .into_iter()
            .filter(|job| user.is_none_or(|user| job.user_id == user));
        found.extend(
            own.map(|job| job.id)
                .filter(|id| (first..=last).contains(id)),
        );
        if is_last {
            found.reverse();
            return Ok(found);
        }
    }
}

/// Cancels a job, unless it is over.
///
/// # Errors
/// If the service refuses for another reason, or cannot be reached.
pub fn cancel_unless_over(client: &mut ApiClient, id: u64) -> Result<(), ClientError> {
    let path = format!("/v1/jobs/{id}/cancel");
    match client.post_with_key::<JobRef>(&path, &()) {
        Err(error) if !error.is_of_ended_job() => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl ClientError {
    /// Returns whether the service refuses to change a job because the job does not exist, or is over.
    pub fn is_of_ended_job(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if GONE.contains(&status.as_u16()))
    }
}
