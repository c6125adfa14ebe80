//! `tollgate logs`: reads the files as the calling user.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::thread;
use std::time::Duration;

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDetails, JobList};

use super::endpoint::ServiceAddressArgs;
use super::error::ClientCommandError;
use super::{format, parse};
use crate::exit::CliFailure;
use crate::messages::Verbosity;

/// The maximum number of files that are shown at once.
const MAX_LOGS: u32 = 10_000;
/// The interval at which a followed file is read.
const READ_INTERVAL: Duration = Duration::from_millis(100);
/// The number of readings after which the state of the job is asked for.
const READINGS_PER_QUERY: u32 = 5;

/// Print the output of a job.
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// Number of the job, or of tasks, as in 7_3 or 7_1-5,9
    #[arg(value_parser = parse::parse_job_id)]
    id: String,
    /// Print new output as it is written, until the job is over
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate logs`. For an array, the files of all started tasks follow one another.
pub(crate) fn logs(args: &LogsArgs) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let (id, tasks) = args.id.split_once('_').unwrap_or((&args.id, ""));
    let job: JobDetails = client.get(&format!("/v1/jobs/{id}"))?;
    let mut jobs = match job.array {
        None if tasks.is_empty() => vec![job],
        Some(_) | None => {
            let path = format!("/v1/jobs/{}/tasks?limit={MAX_LOGS}", args.id);
            client.get::<JobList>(&path)?.jobs
        }
    };
    let alone = jobs.len() == 1;
    let elsewhere = args.address.is_remote()?;
    if args.follow {
        let n_tasks = jobs.len();
        let job = jobs.pop().filter(|_| alone);
        let job = job.ok_or(ClientCommandError::FollowMany { n_tasks })?;
        let file = output_file(&job, &args.id, elsewhere)?;
        return follow(&mut client, job, &file);
    }
    for job in jobs {
        if job.attempts == 0 && !alone {
            continue;
        }
        let file = output_file(&job, &args.id, elsewhere)?;
        let mut log =
            File::open(&file).map_err(|error| CliFailure::read_failed(file.clone(), error))?;
        io::copy(&mut log, &mut io::stdout().lock())?;
    }
    Ok(())
}

/// Returns the name of the file with the output of a job.
fn output_file(job: &JobDetails, id: &str, elsewhere: bool) -> Result<String, ClientCommandError> {
    let Some(file) = job.output.clone() else {
        return Err(ClientCommandError::NoOutput { id: id.to_owned() });
    };
    match elsewhere {
        true => Err(ClientCommandError::OutputOnAnotherHost { file }),
        false => Ok(file),
    }
}

/// Prints what a job writes until it is over.
fn follow(client: &mut ApiClient, mut job: JobDetails, file: &str) -> Result<(), CliFailure> {
    let id = format::format_job_id(&job);
    if job.attempts == 0 && !is_over(&job) {
        Verbosity::Notes.note(format_args!(
            "job {id} is {}: it has not started",
            job.state
        ));
    }
    let mut position = 0;
    loop {
        // What was written before the job was over is read after that was seen.
        let over = is_over(&job);
        for _ in 0..READINGS_PER_QUERY {
            if job.attempts > 0 {
                position = print_from(file, position)?;
            }
            if over {
                return Ok(());
            }
            thread::sleep(READ_INTERVAL);
        }
        job = client.get(&format!("/v1/jobs/{id}"))?;
    }
}

fn is_over(job: &JobDetails) -> bool {
    job.finished_at.is_some() || matches!(job.state.as_str(), "rejected" | "cancelled" | "lost")
}

/// Prints a file from `position` to its end, and returns the new position. A file that is shorter was
/// begun anew by another attempt.
fn print_from(file: &str, position: u64) -> Result<u64, CliFailure> {
    let failed = |error| CliFailure::read_failed(file.to_owned(), error);
    let mut log = match File::open(file) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(error)),
    };
    let length = log.metadata().map_err(failed)?.len();
    let position = if length < position { 0 } else { position };
    log.seek(SeekFrom::Start(position)).map_err(failed)?;
    let mut out = io::stdout().lock();
    let printed = io::copy(&mut log, &mut out)?;
    out.flush()?;
    Ok(position + printed)
}
