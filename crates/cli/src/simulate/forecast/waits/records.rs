//! Reads traces as records of waits.

use std::path::PathBuf;

use tollgate_forecast::wait::{WaitEnd, WaitJob, WaitRecord};
use tollgate_model::{Instant, Span};
use tollgate_site_forecast::NameIds;
use tollgate_site_forecast::records::{MIN_CALENDAR_S, number, request};
use tollgate_trace::{Trace, TraceMetadata, TraceStatus};

use super::super::error::ForecastError;
use super::super::records::{open_all_columns, print_findings};
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// The jobs of the input files.
#[derive(Default)]
pub(super) struct WaitJobs {
    /// The jobs in order of submission. Ties keep the order in which they were read.
    pub(super) records: Vec<WaitRecord>,
    /// The public number of each job.
    pub(super) numbers: Vec<u64>,
    pub(super) users: NameIds<String>,
    pub(super) queues: NameIds<String>,
    pub(super) sources: String,
    /// Whether the instants are calendar dates.
    pub(super) has_calendar: bool,
}

/// Reads the jobs of all files.
///
/// # Errors
/// An error if a file cannot be read, or if the files say nothing about waits.
pub(super) fn read(files: &[PathBuf], verbosity: Verbosity) -> Result<WaitJobs, CliFailure> {
    let mut jobs = WaitJobs {
        has_calendar: true,
        ..WaitJobs::default()
    };
    let mut sources = Vec::new();
    let mut numbered = Vec::new();
    let mut tally = WaitTally::default();
    for file in files {
        let trace = open_all_columns(file)?;
        print_findings(&trace, verbosity);
        jobs.add_trace(&trace, &mut numbered, &mut tally);
        sources.push(trace.source);
    }
    jobs.sources = sources.join(", ");
    numbered.sort_by_key(|(_, record)| record.queued);
    (jobs.numbers, jobs.records) = numbered.into_iter().unzip();
    let n_known = jobs.records.len();
    let reason = if n_known == 0 {
        "no job has one"
    } else if jobs.records.iter().all(|record| wait(record) == Span::ZERO) {
        "all of them are 0"
    } else {
        verbosity.note(format_args!(
            "{} from {}; {} without a wait left out",
            pluralise(n_known, "job"),
            jobs.sources,
            tally.n_unknown
        ));
        if tally.n_held > 0 {
            verbosity.note(format_args!(
                "{} could not start at once, as they were held or waited for other jobs: their waits count from then",
                pluralise(tally.n_held, "job")
            ));
        }
        return Ok(jobs);
    };
    Err(ForecastError::NoWaits {
        file: jobs.sources,
        reason,
    }
    .into())
}

/// Counts of unusual records, for notes to the user.
#[derive(Default)]
struct WaitTally {
    n_unknown: usize,
    n_held: usize,
}

fn wait(record: &WaitRecord) -> Span {
    match record.wait_end {
        WaitEnd::Ran { wait, .. } | WaitEnd::Cancelled(wait) => wait,
    }
}

impl WaitJobs {
    /// Adds the jobs of a trace to `numbered`. A job that was held has been in the queue since it could start: what others did
    /// before says nothing about when that was.
    fn add_trace(
        &mut self,
        trace: &Trace,
        numbered: &mut Vec<(u64, WaitRecord)>,
        tally: &mut WaitTally,
    ) {
        let nameless = TraceMetadata::default();
        let names = trace.metadata.as_ref().unwrap_or(&nameless);
        let origin = trace
            .unix_start
            .unwrap_or(Instant::ZERO)
            .since(Instant::ZERO);
        let first = trace.jobs.first();
        let first = first.map_or(Instant::ZERO, |job| job.submit + origin);
        self.has_calendar &= first >= Instant::from_secs(MIN_CALENDAR_S);
        let (mut users, mut queues) = (Vec::new(), Vec::new());
        for (row, job) in trace.jobs.iter().enumerate() {
            let usage = names.usage.get(row).unwrap_or_default();
            let Some(wait) = usage.wait else {
                tally.n_unknown += 1;
                continue;
            };
            let held = usage.held.unwrap_or(Span::ZERO);
            tally.n_held += usize::from(held > Span::ZERO);
            let wait = wait - held;
            let never_ran = job.runtime < Span::ZERO
                || (job.runtime == Span::ZERO && usage.status == TraceStatus::Cancelled);
            let wait_end = if never_ran {
                WaitEnd::Cancelled(wait)
            } else {
                WaitEnd::Ran {
                    wait,
                    runtime: job.runtime,
                }
            };
            let facts = WaitJob {
                user: number(&names.user, row, &mut users, &mut self.users),
                queue: number(&names.queue, row, &mut queues, &mut self.queues),
                procs: job.procs,
                request: request(job),
            };
            let record = WaitRecord {
                job: facts,
                queued: job.submit + origin + held,
                wait_end,
            };
            numbered.push((job.number, record));
        }
    }
}
