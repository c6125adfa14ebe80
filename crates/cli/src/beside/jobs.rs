//! `tollgate beside jobs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tollgate_beside::{SeenJob, SeenJobKey, SeenPhase};
use tollgate_model::{Instant, Span};
use tollgate_trace::{
    RecordNames, Trace, TraceJob, TraceMetadata, TraceStatus, TraceUsage, job_table,
};

use super::error::{BesideError, file_error};
use super::record;
use crate::exit::CliFailure;

/// A run time that is not known: the job never ran.
const NEVER_RAN: Span = Span::from_secs(-1);

/// Print the jobs of records that are over, as a job table.
///
/// Other commands read it. `tollgate replay` shows what other policies would have promised and kept on these jobs.
#[derive(Debug, clap::Args)]
pub(super) struct BesideJobsArgs {
    /// Directories of runs of the follower, or that of --record
    #[arg(value_name = "DIR", required = true)]
    records: Vec<PathBuf>,
}

/// `tollgate beside jobs`.
pub(super) fn run(args: &BesideJobsArgs) -> Result<(), CliFailure> {
    let mut jobs = EndedJobs::default();
    for dir in &args.records {
        for run in runs(dir)? {
            jobs.read(&run)?;
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written = job_table::write(&jobs.trace(), &mut out).and_then(|()| out.flush());
    Ok(written.map_err(|error| file_error("standard output", error))?)
}

/// Jobs that are over, in order of their submission.
#[derive(Default)]
pub(super) struct EndedJobs {
    /// The job of a name that is used again is another one.
    jobs: BTreeMap<(Instant, SeenJobKey), SeenJob>,
}

impl EndedJobs {
    /// Takes a job if it is over.
    pub(super) fn add(&mut self, job: SeenJob) {
        if job.phase == SeenPhase::Over {
            self.jobs.insert((job.submitted, job.key.clone()), job);
        }
    }

    /// Takes the jobs of a run of the follower.
    ///
    /// # Errors
    /// If the record cannot be read or is damaged.
    pub(super) fn read(&mut self, run: &Path) -> Result<(), BesideError> {
        record::for_each_job(run, |job| self.add(job))
    }

    /// Drops the jobs before the last `n_jobs`.
    pub(super) fn keep_last(&mut self, n_jobs: usize) {
        while self.jobs.len() > n_jobs {
            self.jobs.pop_first();
        }
    }

    /// Returns the number of jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns whether there is no job.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the jobs as a record.
    pub(super) fn trace(&self) -> Trace {
        trace(self.jobs.values())
    }
}

/// Returns the runs in a directory, or the directory itself if it is one.
pub(super) fn runs(dir: &Path) -> Result<Vec<PathBuf>, BesideError> {
    if record::is_run(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| file_error(dir, error))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = paths.filter(|path| record::is_run(path)).collect();
    runs.sort();
    match runs.is_empty() {
        true => Err(BesideError::NoRun(dir.to_owned())),
        false => Ok(runs),
    }
}

fn trace<'a>(jobs: impl Iterator<Item = &'a SeenJob>) -> Trace {
    let mut trace = Trace::empty("the record of a follower");
    let mut metadata = TraceMetadata::default();
    for job in jobs {
        let ran = job.started.zip(job.ended);
        let runtime = ran.map_or(NEVER_RAN, |(started, ended)| ended.since(started));
        trace.jobs.push(TraceJob {
            number: number(job),
            submit: job.submitted,
            runtime,
            estimate: job.limit.unwrap_or(runtime),
            is_estimated: job.limit.is_some(),
            procs: job.procs,
        });
        let names = RecordNames {
            user: job.user.as_bytes(),
            queue: job.queue.as_bytes(),
            ..RecordNames::default()
        };
        metadata.push(names, usage(job));
    }
    trace.metadata = Some(metadata);
    trace
}

/// Returns the number at the beginning of a job's name, which the tasks of an array share; 0 without one.
fn number(job: &SeenJob) -> u64 {
    let digits = job.key.0.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0, |number: u64, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    })
}

fn usage(job: &SeenJob) -> TraceUsage {
    let until = |end: Instant| end.since(job.submitted).max(Span::ZERO);
    let wait = job.started.or(job.ended).map(until);
    let held = job.eligible.and(job.queued()).map(until);
    TraceUsage {
        wait,
        held: held.map(|held| wait.map_or(held, |wait| held.min(wait))),
        status: match job.started {
            Some(_) => TraceStatus::Unknown,
            None => TraceStatus::Cancelled,
        },
        ..TraceUsage::default()
    }
}
