//! `tollgate cancel`, `hold`, `release`, `wait` and `logs`.

use std::fs::File;
use std::io::{self, Write};

use tollgate_client::types::{JobDetails, JobList, JobRef};

use super::endpoint::ServiceAddressArgs;
use super::error::ClientCommandError;
use super::{format, parse};
use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};

/// The maximum number of files that are shown at once.
const MAX_LOGS: u32 = 10_000;

/// Which job is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct JobActionArgs {
    /// Number of the job, or of tasks, as in 7_3 or 7_1-5,9
    #[arg(value_parser = parse::parse_job_id)]
    id: String,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// Wait until a job is over, and exit with its status.
///
/// The status is the exit code of the job, 128 + n after signal n, and 1 if the job or a task of it was
/// rejected, cancelled or lost.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    job: JobActionArgs,
    /// Wait only until the job is admitted or rejected
    #[arg(long)]
    decision: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

/// `tollgate cancel`, `hold`, `release`.
pub(crate) fn post_action(args: &JobActionArgs, verb: &str) -> Result<(), CliFailure> {
    let path = format!("/v1/jobs/{}/{verb}", args.id);
    let _: JobRef = args.address.connect()?.post(&path, &())?;
    Ok(())
}

/// `tollgate wait`.
pub(crate) fn wait(args: &WaitArgs) -> Result<(), CliFailure> {
    let decision = args.decision;
    let path = format!("/v1/jobs/{}/wait?decision={decision}", args.job.id);
    let job: JobDetails = args.job.address.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {}
        (false, OutputFormat::Json) => format::write_json(&mut out, &job)?,
        (false, OutputFormat::Csv) => return Err(CsvUnsupported.into()),
        (false, OutputFormat::Table) => {
            let status = job.status.as_deref().unwrap_or("");
            // A status such as `lost (worker disconnected)` already includes the state.
            let end = match status.starts_with(&job.state) {
                true => status.to_owned(),
                false => format!("{} {status}", job.state),
            };
            writeln!(
                out,
                "job {}: {}",
                format::format_job_id(&job),
                end.trim_end()
            )?;
        }
    }
    let task_kept_out =
        (job.array.as_ref()).is_some_and(|array| array.rejected + array.cancelled + array.lost > 0);
    let kept_out = task_kept_out || matches!(job.state.as_str(), "rejected" | "cancelled" | "lost");
    match job.exit_code {
        _ if kept_out => Err(ClientCommandError::JobStatus(1).into()),
        Some(code) if code != 0 && job.state == "finished" => {
            Err(ClientCommandError::JobStatus(code).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// `tollgate logs`: reads the files as the calling user. For an array, the files of all started
/// tasks follow one another.
pub(crate) fn logs(args: &JobActionArgs) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let (id, tasks) = args.id.split_once('_').unwrap_or((&args.id, ""));
    let job: JobDetails = client.get(&format!("/v1/jobs/{id}"))?;
    let jobs = match job.array {
        None if tasks.is_empty() => vec![job],
        Some(_) | None => {
            let path = format!("/v1/jobs/{}/tasks?limit={MAX_LOGS}", args.id);
            client.get::<JobList>(&path)?.jobs
        }
    };
    let alone = jobs.len() == 1;
    let elsewhere = args.address.is_remote()?;
    for job in jobs {
        let Some(file) = job.output else {
            let id = args.id.clone();
            return Err(ClientCommandError::NoOutput { id }.into());
        };
        if job.attempts == 0 && !alone {
            continue;
        }
        if elsewhere {
            return Err(ClientCommandError::OutputOnAnotherHost { file }.into());
        }
        let mut log =
            File::open(&file).map_err(|error| CliFailure::read_failed(file.clone(), error))?;
        io::copy(&mut log, &mut io::stdout().lock())?;
    }
    Ok(())
}
