//! `tollgate cancel`, `hold` and `release`.

use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{JobAction, JobList, JobRef, JobsActionRequest, JobsActionResult};
use tollgate_client::{ApiClient, ClientError};

use super::cluster_job::{ClusterJob, common_cluster};
use super::job_numbers::{JobNumbers, parse_cluster_job_numbers};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::{CountProgress, while_waiting};

/// Jobs that are asked for in one request.
const PAGE: usize = 10_000;
/// The HTTP statuses of jobs that do not exist, or are over.
const GONE: [u16; 2] = [404, 409];

/// The jobs to change.
#[derive(Debug, clap::Args)]
pub(crate) struct JobActionArgs {
    /// Numbers of jobs, as in 7 or 10-20
    ///
    /// Of a range, those that are not over. 7_1-5,9 means tasks of an array, north:7 a job of the cluster
    /// `north`.
    #[arg(value_name = "ID", value_parser = parse_cluster_job_numbers, required_unless_present = "all")]
    ids: Vec<ClusterJob<JobNumbers>>,
    /// All of your jobs that are not over
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate cancel`, `hold`, `release`.
pub(crate) fn post_action(args: &JobActionArgs, action: JobAction) -> Result<(), CliFailure> {
    let verb = match action {
        JobAction::Cancel => "cancel",
        JobAction::Hold => "hold",
        JobAction::Release => "release",
    };
    let address = args.address.at_cluster(common_cluster(&args.ids)?)?;
    let mut client = address.connect()?;
    let post = |client: &mut ApiClient, id: &str| {
        let path = format!("/v1/jobs/{id}/{verb}");
        let waits = format!("waiting for the service to {verb} job {id}");
        while_waiting(waits, || {
            client.post_with_key::<JobRef>(&path, &()).map(drop)
        })
    };
    let chosen = args.chosen();
    if let [JobNumbers::One(id)] = chosen.as_slice() {
        post(&mut client, id)?;
        Verbosity::Notes.note(format_args!("job {id} {}", participle(action)));
        return Ok(());
    }
    let (mut n_jobs, mut n_failed, mut n_changed) = (0, 0, 0);
    for numbers in chosen {
        match numbers {
            JobNumbers::One(id) => {
                n_jobs += 1;
                match refusal(post(&mut client, &id))? {
                    Some(refusal) => {
                        Verbosity::Notes.note(format_args!("job {id}: {refusal}"));
                        n_failed += 1;
                    }
                    None => n_changed += 1,
                }
            }
            JobNumbers::Range(first, last) => {
                let ids = unfinished(&mut client, args.own_user()?, first, last)?;
                let progress = CountProgress::begin(ids.len() as u64, "jobs");
                for ids in ids.chunks(MAX_BATCH) {
                    let request = JobsActionRequest {
                        action,
                        ids: ids.to_vec(),
                    };
                    // Some may have ended, or be held already, since the list was made. So a repetition does
                    // no harm.
                    let result: JobsActionResult = client.post_with_key("/v1/actions", &request)?;
                    n_changed += result.changed.len();
                    progress.advance(ids.len() as u64);
                }
            }
        }
    }
    let changed = pluralise(n_changed, "job");
    Verbosity::Notes.note(format_args!("{changed} {}", participle(action)));
    match n_failed {
        0 => Ok(()),
        _ => Err(ClientCommandError::SomeUnchanged { n_failed, n_jobs }.into()),
    }
}

/// Returns what becomes of a job by an action.
const fn participle(action: JobAction) -> &'static str {
    match action {
        JobAction::Cancel => "cancelled",
        JobAction::Hold => "held",
        JobAction::Release => "released",
    }
}

impl JobActionArgs {
    fn chosen(&self) -> Vec<JobNumbers> {
        match self.all {
            true => vec![JobNumbers::Range(0, u64::MAX)],
            false => self.ids.iter().map(|ids| ids.job.clone()).collect(),
        }
    }

    /// Returns the user whose jobs `--all` means. A remote service knows the user by the token.
    fn own_user(&self) -> Result<Option<u32>, CliFailure> {
        let is_own = self.all && !self.address.is_remote()?;
        Ok(is_own.then(|| rustix::process::geteuid().as_raw()))
    }
}

/// Returns the refusal to change a job that does not exist, or is over. Other errors are errors.
fn refusal(answer: Result<(), ClientError>) -> Result<Option<ClientError>, CliFailure> {
    match answer {
        Ok(()) => Ok(None),
        Err(error @ ClientError::Refused { status, .. }) if GONE.contains(&status.as_u16()) => {
            Ok(Some(error))
        }
        Err(error) => Err(error.into()),
    }
}

/// Cancels a job, unless it is over.
///
/// # Errors
/// If the service refuses for another reason, or cannot be reached.
pub(crate) fn cancel(client: &mut ApiClient, id: u64) -> Result<(), CliFailure> {
    let path = format!("/v1/jobs/{id}/cancel");
    refusal(client.post_with_key::<JobRef>(&path, &()).map(drop))?;
    Ok(())
}

/// Returns the numbers of the jobs in a range that are not over, ascending.
pub(crate) fn unfinished(
    client: &mut ApiClient,
    user: Option<u32>,
    first: u64,
    last: u64,
) -> Result<Vec<u64>, CliFailure> {
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
