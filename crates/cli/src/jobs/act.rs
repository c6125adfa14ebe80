//! `tollgate cancel`, `hold` and `release`.

use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{JobAction, JobRef, JobsActionRequest, JobsActionResult};
use tollgate_client::{ApiClient, unfinished_jobs};

use super::cluster_job::{ClusterJob, common_cluster};
use super::job_numbers::{JobNumbers, parse_cluster_job_numbers};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::{CountProgress, while_waiting};

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
                match post(&mut client, &id) {
                    Ok(()) => n_changed += 1,
                    Err(refusal) if refusal.is_of_ended_job() => {
                        Verbosity::Notes.note(format_args!("job {id}: {refusal}"));
                        n_failed += 1;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            JobNumbers::Range(first, last) => {
                let ids = unfinished_jobs(&mut client, args.own_user()?, first, last)?;
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
