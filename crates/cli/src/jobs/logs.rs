//! `tollgate logs`: reads the files as the calling user, or asks the service for what ran elsewhere.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDetails, JobList, JobOutput, OutputSource};

use super::cluster_job::ClusterJob;
use super::job_numbers::parse_cluster_job_id;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::connection::reconnect::ClientPurpose;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::messages::Verbosity;

/// The maximum number of files that are shown at once.
const MAX_LOGS: u32 = 10_000;
/// The maximum number of bytes before the end that are shown of the output of a running job elsewhere.
const MAX_SHOWN_BYTES: u64 = 1 << 20;
/// The maximum difference of two hosts about the time of a file's last change, in microseconds: for so long
/// file systems of a network may answer from a cache.
const CACHED_TIMES_US: i64 = 120_000_000;
/// The interval at which a followed file is read.
const READ_INTERVAL: Duration = Duration::from_millis(100);
/// The number of readings after which the state of the job is asked for.
const READINGS_PER_QUERY: u32 = 5;

/// The options of `tollgate logs`.
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// Number of the job, or of tasks, as in 7_3 or 7_1-5,9
    #[arg(value_parser = parse_cluster_job_id)]
    id: ClusterJob,
    /// Print standard error, if it has a file of its own
    #[arg(long)]
    error: bool,
    /// Print new output as it is written, until the job is over
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate logs`. For an array, the outputs of all started tasks follow one another.
pub(crate) fn logs(args: &LogsArgs) -> Result<(), CliFailure> {
    let address = args.id.address(&args.address)?;
    let purpose = match args.follow {
        true => ClientPurpose::JobEnd,
        false => ClientPurpose::Answer,
    };
    let mut client = LogClient {
        api: address.connect_for(purpose)?,
        is_error: args.error,
    };
    let named = &args.id.job;
    let (id, tasks) = named.split_once('_').unwrap_or((named, ""));
    let job: JobDetails = client.api.get(&format!("/v1/jobs/{id}"))?;
    let mut jobs = match job.array {
        None if tasks.is_empty() => vec![job],
        Some(_) | None => {
            let path = format!("/v1/jobs/{named}/tasks?limit={MAX_LOGS}");
            client.api.get::<JobList>(&path)?.jobs
        }
    };
    let n_tasks = jobs.len();
    let alone = n_tasks == 1;
    let elsewhere = address.is_remote()?;
    if args.follow {
        let job = jobs.pop().filter(|_| alone);
        let job = job.ok_or(ClientCommandError::FollowMany { n_tasks })?;
        return follow(&mut client, job, elsewhere);
    }
    let mut n_missing = 0;
    for job in jobs {
        if job.attempts == 0 && !alone {
            continue;
        }
        match print_output(&mut client, &job, elsewhere)? {
            None => {}
            Some(problem) if alone => return Err(problem.into()),
            Some(problem) => {
                n_missing += 1;
                Verbosity::Notes.note(problem);
            }
        }
    }
    match n_missing {
        0 => Ok(()),
        _ => Err(ClientCommandError::SomeOutputsMissing { n_missing, n_tasks }.into()),
    }
}

/// A client that reads one of the streams of jobs.
struct LogClient {
    api: ApiClient,
    /// Whether the stream is standard error.
    is_error: bool,
}

impl LogClient {
    /// Returns the name of the file with the output of a job, or with its errors.
    fn file<'a>(&self, job: &'a JobDetails) -> Result<&'a str, ClientCommandError> {
        let id = || format::format_job_id(job);
        match self.is_error {
            true => job
                .error
                .as_deref()
                .ok_or_else(|| ClientCommandError::NoErrorFile { id: id() }),
            false => job
                .output
                .as_deref()
                .ok_or_else(|| ClientCommandError::NoOutput { id: id() }),
        }
    }

    /// Reads a part of the stream of a job from the service.
    fn read(&mut self, job: &JobDetails, part: &str) -> Result<JobOutput, CliFailure> {
        let id = format::format_job_id(job);
        let stream = if self.is_error { "&error=true" } else { "" };
        Ok(self
            .api
            .get(&format!("/v1/jobs/{id}/output?{part}{stream}"))?)
    }
}

/// Prints the output of a job. Returns why some of it is missing.
fn print_output(
    client: &mut LogClient,
    job: &JobDetails,
    elsewhere: bool,
) -> Result<Option<ClientCommandError>, CliFailure> {
    let file = client.file(job)?;
    let is_here = !elsewhere && is_host_of(job) && Path::new(file).exists();
    let source = match is_here || job.attempts == 0 && !elsewhere {
        true => LogSource::File,
        false => find_source(client, job, file, elsewhere)?,
    };
    match source {
        LogSource::File => {
            let opened = File::open(file);
            let mut log = opened.map_err(|error| CliFailure::read_failed(file, error))?;
            io::copy(&mut log, &mut io::stdout().lock())?;
            Ok(None)
        }
        LogSource::Service => {
            let problem = ServiceLog::default().print_more(client, job)?;
            Ok(problem.map(|problem| ClientCommandError::OutputMissing {
                id: format::format_job_id(job),
                problem,
            }))
        }
    }
}

/// Returns whether this host is the one on which the job runs, or ran.
pub(crate) fn is_host_of(job: &JobDetails) -> bool {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy();
    job.host.as_deref() == Some(&*own)
}

/// The source of an output.
enum LogSource {
    /// The file is on this host, or on a file system that this host shares.
    File,
    /// The service has it, or its worker.
    Service,
}

/// Asks the service where the output of a job is.
fn find_source(
    client: &mut LogClient,
    job: &JobDetails,
    file: &str,
    elsewhere: bool,
) -> Result<LogSource, CliFailure> {
    let output = client.read(job, "last=0")?;
    let max_age_us = match is_over(job) {
        true => 0,
        false => CACHED_TIMES_US,
    };
    let is_file = match output.source.known() {
        Some(OutputSource::Host) if elsewhere => {
            let file = file.to_owned();
            return Err(ClientCommandError::OutputOnAnotherHost { file }.into());
        }
        Some(OutputSource::Host) => true,
        Some(OutputSource::Worker | OutputSource::Kept) | None => {
            let file = Path::new(file);
            let is_nowhere = is_over(job) && output.problem.is_some() && output.size_bytes == 0;
            let is_file = is_same_file(file, &output, max_age_us) || is_nowhere && file.exists();
            is_file && !elsewhere
        }
    };
    Ok(match is_file {
        true => LogSource::File,
        false => LogSource::Service,
    })
}

/// Returns whether a file of this host is the one that the worker has read: both hosts share a file
/// system.
fn is_same_file(file: &Path, output: &JobOutput, max_age_us: i64) -> bool {
    let (Ok(here), Some(inode), Some(modified_us)) =
        (file.metadata(), output.inode, output.modified_us)
    else {
        return false;
    };
    let here_us = here.mtime().saturating_mul(1_000_000) + here.mtime_nsec() / 1_000;
    let is_same_size = max_age_us > 0 || here.len() == output.size_bytes;
    here.ino() == inode && is_same_size && (here_us - modified_us).abs() <= max_age_us
}

/// The output of a job on another host, as far as it is printed.
#[derive(Default)]
struct ServiceLog {
    attempt: u32,
    position: u64,
    is_begun: bool,
    /// The file that was printed, if it is known.
    inode: Option<u64>,
}

impl ServiceLog {
    /// Prints what has been written since the last call. Returns why some of it is missing.
    fn print_more(
        &mut self,
        client: &mut LogClient,
        job: &JobDetails,
    ) -> Result<Option<String>, CliFailure> {
        let part = match self.is_begun {
            true => format!("from={}", self.position),
            false => format!("last={MAX_SHOWN_BYTES}"),
        };
        let mut output = client.read(job, &part)?;
        if output.source == OutputSource::Kept && !self.is_begun {
            // All that is kept is of use.
            output = client.read(job, "from=0")?;
        }
        loop {
            let goes_on = self.goes_on(&output);
            if goes_on {
                self.attempt = output.attempt;
            } else if output.attempt != self.attempt || output.size_bytes < self.position {
                // Another attempt has begun another file.
                let was_begun = self.is_begun;
                *self = Self {
                    attempt: output.attempt,
                    ..Self::default()
                };
                if was_begun {
                    output = client.read(job, "from=0")?;
                }
            }
            self.print_piece(job, &output)?;
            if output.content().is_empty() || self.position >= output.size_bytes {
                return Ok(output.problem);
            }
            output = client.read(job, &format!("from={}", self.position))?;
        }
    }

    /// Returns whether a later attempt appends to the file that was printed before.
    fn goes_on(&self, output: &JobOutput) -> bool {
        let is_same = self.is_begun && output.inode.is_some() && output.inode == self.inode;
        is_same && output.size_bytes >= self.position
    }

    fn print_piece(&mut self, job: &JobDetails, output: &JobOutput) -> Result<(), CliFailure> {
        let bytes = output.content();
        if bytes.is_empty() {
            return Ok(());
        }
        if output.start > self.position {
            let missing = output.start - self.position;
            let id = format::format_job_id(job);
            Verbosity::Notes.note(format_args!(
                "job {id}: {missing} bytes before these are left out"
            ));
        }
        self.is_begun = true;
        self.inode = output.inode;
        self.position = output.start + bytes.len() as u64;
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }
}

/// Prints what a job writes until it is over.
fn follow(client: &mut LogClient, mut job: JobDetails, elsewhere: bool) -> Result<(), CliFailure> {
    let id = format::format_job_id(&job);
    let file = client.file(&job)?.to_owned();
    if job.attempts == 0 && !is_over(&job) {
        Verbosity::Notes.note(format_args!(
            "job {id} is {}: it has not started",
            job.state
        ));
    }
    let mut position = 0;
    let mut log = ServiceLog::default();
    loop {
        // Output from before the end of the job is read after the end was seen.
        let over = is_over(&job);
        let is_here = !elsewhere && is_host_of(&job) && Path::new(&file).exists();
        let is_service = job.attempts > 0 && !is_here;
        let is_service = is_service
            && (log.is_begun
                || match find_source(client, &job, &file, elsewhere)? {
                    LogSource::File => false,
                    LogSource::Service => true,
                });
        let mut problem = None;
        for _ in 0..READINGS_PER_QUERY {
            if is_service {
                problem = log.print_more(client, &job)?;
            } else if job.attempts > 0 {
                position = print_from(&file, position)?;
            }
            if over {
                return match problem {
                    Some(problem) => Err(ClientCommandError::OutputMissing { id, problem }.into()),
                    None => Ok(()),
                };
            }
            thread::sleep(READ_INTERVAL * if is_service { READINGS_PER_QUERY } else { 1 });
            if is_service {
                break;
            }
        }
        job = client.api.get(&format!("/v1/jobs/{id}"))?;
    }
}

/// Returns whether nothing more becomes of a job.
pub(crate) fn is_over(job: &JobDetails) -> bool {
    job.finished_at.is_some() || job.state.is_over()
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
