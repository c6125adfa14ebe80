//! `tollgate learn`: teaches a running service from records of earlier jobs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{LearnRequest, LearnResult, LearnedJob};
use tollgate_model::{Bytes, Instant, Span};
use tollgate_trace::{
    ColumnSelection, Finding, ReadOptions, Trace, TraceMetadata, TraceStatus, open,
};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::CountProgress;

/// Maximum number of records in a request.
const MAX_BATCH: usize = 1_000;
/// Maximum number of bytes of the records in a request, unless one alone has more.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Bytes of a record besides its names, at most.
const RECORD_BYTES: usize = 256;

/// The options of `tollgate learn`.
#[derive(Debug, clap::Args)]
pub(crate) struct LearnArgs {
    /// Records of jobs, in any format that `tollgate replay` reads
    ///
    /// Plain or gzip; `-` is standard input.
    #[arg(value_name = "RECORDS", required = true)]
    records: Vec<PathBuf>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The numbers of records that a service has read, and learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LearnSummary {
    /// Number of records.
    records: usize,
    /// Number of records that were learned.
    learned: usize,
    /// Number of records that had been learned before.
    known: usize,
    /// Number of records of jobs that never ran, or for 0 s.
    never_ran: usize,
    /// Number of records of jobs that ran and did not end with success.
    unsuccessful: usize,
}

/// `tollgate learn`.
pub(crate) fn run(args: &LearnArgs) -> Result<(), CliFailure> {
    if args.format == OutputFormat::Csv {
        return Err(CsvUnsupported.into());
    }
    let mut client = args.address.connect()?;
    let mut summary = LearnSummary::default();
    let mut jobs = Vec::new();
    for file in &args.records {
        reject_forecast_state(file)?;
        let options = ReadOptions {
            columns: ColumnSelection::All,
        };
        let trace = open(file, options)?;
        summary.add_jobs(&trace, &mut jobs);
    }
    // A stable sort: jobs that ended together are learned in the order of the records.
    jobs.sort_by_key(|(finish, _)| *finish);
    let progress = CountProgress::begin(jobs.len() as u64, "records");
    let mut jobs = jobs.into_iter().map(|(_, job)| job).peekable();
    while jobs.peek().is_some() {
        let request = LearnRequest {
            records: next_batch(&mut jobs),
        };
        let LearnResult { learned, known } = client.post("/v1/learn", &request)?;
        progress.advance(request.records.len() as u64);
        summary.learned += learned as usize;
        summary.known += known as usize;
    }
    drop(progress);
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &summary)?,
        OutputFormat::Csv | OutputFormat::Table => {
            let LearnSummary {
                records,
                learned,
                known,
                never_ran,
                unsuccessful,
            } = summary;
            let records = pluralise(records, "record");
            writeln!(
                out,
                "learned {learned} of {records}: {known} known already, {never_ran} without a run, \
                 {unsuccessful} without success"
            )?;
        }
    }
    Ok(())
}

/// Fails if the file is a state of `tollgate forecast`: its classes are made of other facts than those of
/// a service, and the runs behind them are not in it.
fn reject_forecast_state(file: &Path) -> Result<(), ClientCommandError> {
    const START: &[u8] = b"{\"about\":\"what `tollgate forecast`";
    let mut start = [0; START.len()];
    let opened = (file != Path::new("-")).then(|| File::open(file));
    // A file that cannot be read is reported by the reader of records.
    let read = opened
        .and_then(Result::ok)
        .and_then(|mut opened| opened.read_exact(&mut start).ok());
    match read {
        Some(()) if start == START => Err(ClientCommandError::ForecastState {
            file: file.display().to_string(),
        }),
        Some(()) | None => Ok(()),
    }
}

/// Takes the records of the next request.
fn next_batch(jobs: &mut std::iter::Peekable<impl Iterator<Item = LearnedJob>>) -> Vec<LearnedJob> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < MAX_BATCH {
        let next = jobs.next_if(|job| batch.is_empty() || bytes + size(job) <= MAX_BATCH_BYTES);
        let Some(job) = next else {
            break;
        };
        bytes += size(&job);
        batch.push(job);
    }
    batch
}

/// Returns the most bytes that a record has as JSON.
fn size(job: &LearnedJob) -> usize {
    let labels = [&job.user, &job.executable, &job.account, &job.queue];
    let labels = labels.into_iter().flatten();
    let names = labels
        .chain([&job.id, &job.name])
        .map(|name| 6 * name.len());
    names.sum::<usize>() + RECORD_BYTES
}

impl LearnSummary {
    /// Appends the jobs that teach, with their ends, and counts the others.
    fn add_jobs(&mut self, trace: &Trace, jobs: &mut Vec<(Instant, LearnedJob)>) {
        for finding in trace.diagnostics.to_string().lines() {
            Verbosity::Notes.note(format_args!("{}: {finding}", trace.source));
        }
        self.records += trace.jobs.len();
        let origin = trace.unix_start.unwrap_or(Instant::ZERO);
        let origin = origin.since(Instant::ZERO);
        // The tasks of an array share their number, and often all other values too.
        let arrays = trace.diagnostics.count(Finding::SharedNumber) > 0;
        let mut tasks: BTreeMap<u64, u32> = BTreeMap::new();
        let nameless = TraceMetadata::default();
        let names = trace.metadata.as_ref().unwrap_or(&nameless);
        for (row, job) in trace.jobs.iter().enumerate() {
            let usage = trace.usage(row);
            let task = tasks.entry(job.number).or_default();
            *task += 1;
            if job.runtime <= Span::ZERO {
                self.never_ran += 1;
                continue;
            }
            if !matches!(usage.status, TraceStatus::Completed | TraceStatus::Unknown) {
                self.unsuccessful += 1;
                continue;
            }
            let submit = job.submit + origin;
            let finish = submit + usage.wait.unwrap_or(Span::ZERO) + job.runtime;
            let program = names.executable.get(row).map(file_name);
            let learned = LearnedJob {
                id: match arrays {
                    true => format!("{}_{task}", job.number),
                    false => job.number.to_string(),
                },
                user: names.user.get(row).map(str::to_owned),
                name: program.unwrap_or_default().to_owned(),
                executable: program.map(str::to_owned),
                account: names.account.get(row).map(str::to_owned),
                queue: names.queue.get(row).map(str::to_owned),
                procs: job.procs,
                estimate_s: (trace.has_estimate(row) && job.estimate > Span::ZERO)
                    .then(|| job.estimate.as_secs_f64()),
                submitted_at: format_iso(submit),
                finished_at: format_iso(finish),
                run_s: job.runtime.as_secs_f64(),
                cpu_s: usage
                    .cpu_time
                    .filter(|cpu| *cpu > Span::ZERO)
                    .map(Span::as_secs_f64),
                peak_memory_bytes: usage.peak_memory.map(Bytes::as_u64),
            };
            jobs.push((finish, learned));
        }
    }
}

/// Returns the file name of a program: a job is named by it unless its user names the job.
fn file_name(program: &str) -> &str {
    let name = Path::new(program).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(program)
}
