//! `tollgate cancel`, `hold`, `release`, `requeue` and `signal`.

use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{
    JobAction, JobRef, JobsActionRequest, JobsActionResult, SignalRequest, SignalResult,
};
use tollgate_client::{ApiClient, ClientError, unfinished_jobs};
use tollgate_model::WarningSignal;

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

/// The options of `tollgate signal`.
#[derive(Debug, clap::Args)]
pub(crate) struct SignalArgs {
    /// HUP, INT, QUIT, USR1, USR2, TERM or XCPU
    #[arg(value_name = "SIGNAL", value_parser = parse_sent_signal)]
    signal: WarningSignal,
    #[command(flatten)]
    jobs: JobActionArgs,
}

/// Parses the name of a signal to send to running jobs.
fn parse_sent_signal(word: &str) -> Result<WarningSignal, String> {
    let name = word.to_ascii_uppercase();
    let other = match name.strip_prefix("SIG").unwrap_or(&name) {
        "KILL" => ": `tollgate cancel` ends jobs",
        "STOP" | "TSTP" | "CONT" => ": a stopped job would use up its time; see `tollgate hold`",
        _ => "",
    };
    word.parse().map_err(|error| format!("{error}{other}"))
}

/// An action on jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ActionOnJobs {
    /// They are cancelled.
    Cancel,
    /// They are held.
    Hold,
    /// They are released.
    Release,
    /// They are ended and queued again.
    Requeue,
    /// Their processes get a signal.
    Signal(WarningSignal),
}

impl ActionOnJobs {
    /// Returns the last part of the path of a request about one job.
    const fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Requeue => "requeue",
            Self::Signal(_) => "signal",
        }
    }

    /// Returns what becomes of a job.
    const fn participle(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Hold => "held",
            Self::Release => "released",
            Self::Requeue => "requeued",
            Self::Signal(_) => "signalled",
        }
    }

    /// Carries it out on a job, or on tasks of an array. A signal is not sent again if its answer is lost.
    fn post(self, client: &mut ApiClient, id: &str) -> Result<(), ClientError> {
        let path = format!("/v1/jobs/{id}/{}", self.verb());
        match self {
            Self::Cancel | Self::Hold | Self::Release | Self::Requeue => {
                client.post_with_key::<JobRef>(&path, &()).map(drop)
            }
            Self::Signal(signal) => {
                let signal = signal.key().to_owned();
                let sent = client.post::<SignalResult>(&path, &SignalRequest { signal })?;
                if sent.unreached > 0 {
                    Verbosity::Notes.note(format_args!(
                        "job {id}: {} got no signal: no process of them can be reached now",
                        pluralise(sent.unreached as usize, "task")
                    ));
                }
                Ok(())
            }
        }
    }

    /// Carries it out on jobs, each that can be. Some may have ended, or be held already, since the list was made.
    /// So a repetition does no harm, but for signals.
    fn post_many(self, client: &mut ApiClient, ids: &[u64]) -> Result<usize, ClientError> {
        let (action, signal) = match self {
            Self::Cancel => (JobAction::Cancel, None),
            Self::Hold => (JobAction::Hold, None),
            Self::Release => (JobAction::Release, None),
            Self::Requeue => (JobAction::Requeue, None),
            Self::Signal(signal) => (JobAction::Signal, Some(signal.key().to_owned())),
        };
        let is_repeatable = signal.is_none();
        let request = JobsActionRequest {
            action,
            ids: ids.to_vec(),
            signal,
        };
        let path = "/v1/actions";
        let result: JobsActionResult = match is_repeatable {
            true => client.post_with_key(path, &request)?,
            false => client.post(path, &request)?,
        };
        Ok(result.changed.len())
    }
}

/// `tollgate signal`.
pub(crate) fn signal(args: &SignalArgs) -> Result<(), CliFailure> {
    post_action(&args.jobs, ActionOnJobs::Signal(args.signal))
}

/// `tollgate cancel`, `hold`, `release`, `requeue`.
pub(crate) fn post_action(args: &JobActionArgs, order: ActionOnJobs) -> Result<(), CliFailure> {
    let verb = order.verb();
    let address = args.address.at_cluster(common_cluster(&args.ids)?)?;
    let mut client = address.connect()?;
    let post = |client: &mut ApiClient, id: &str| {
        let waits = format!("waiting for the service to {verb} job {id}");
        while_waiting(waits, || order.post(client, id))
    };
    let chosen = args.chosen();
    if let [JobNumbers::One(id)] = chosen.as_slice() {
        post(&mut client, id).map_err(|error| with_number(error, id))?;
        Verbosity::Notes.note(format_args!("job {id} {}", order.participle()));
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
                    n_changed += order.post_many(&mut client, ids)?;
                    progress.advance(ids.len() as u64);
                }
            }
        }
    }
    let changed = pluralise(n_changed, "job");
    Verbosity::Notes.note(format_args!("{changed} {}", order.participle()));
    match n_failed {
        0 => Ok(()),
        _ => Err(ClientCommandError::SomeUnchanged { n_failed, n_jobs }.into()),
    }
}

/// Puts the number of a job before the error that there is no such job.
fn with_number(mut error: ClientError, id: &str) -> ClientError {
    if let ClientError::Refused { status, problem } = &mut error
        && status.as_u16() == 404
    {
        problem.error = format!("job {id}: {}", problem.error);
    }
    error
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
