//! What a replay learns from records before its first submission.

use std::ops::Range;
use std::path::PathBuf;

use tollgate_model::{Instant, Span, UserId};
use tollgate_sim::{CompletedJob, ForecastJob, LearnedHistory};
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, open};

use super::job_names::{JobNames, NumberedJobs};
use crate::exit::CliFailure;

/// Maximum number of records before the last ones of a record that are learned.
const MAX_EARLIER_RECORDS: usize = 20_000;

/// The records that a replay learns from.
#[derive(Clone, Debug, Default)]
pub(super) struct LearnedRecords {
    /// Files of records.
    pub(super) files: Vec<PathBuf>,
    /// True if the records before those of the run are learned.
    pub(super) earlier: bool,
}

/// The experience of a replay at its beginning.
#[derive(Default)]
pub(super) struct LearnedJobs {
    pub(super) history: LearnedHistory,
    /// Number of jobs that were learned.
    pub(super) n_learned: usize,
    /// Number of jobs that ran, but had not ended by the first submission of the run.
    pub(super) n_late: usize,
}

/// The clock of a run: zero is the first submission.
struct RunClock {
    unix_start: Option<Instant>,
    first: Instant,
}

#[derive(Default)]
struct JobCollector {
    ended: Vec<(UserId, CompletedJob)>,
    n_late: usize,
}

impl LearnedRecords {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.earlier
    }

    /// Learns for the run of `trace`, which was cut from `record`. `names` has the names of the run.
    pub(super) fn learn(
        &self,
        trace: &Trace,
        record: &Trace,
        names: &mut JobNames,
    ) -> Result<LearnedJobs, CliFailure> {
        let clock = RunClock::of(trace);
        let mut jobs = JobCollector::default();
        for file in &self.files {
            let options = ReadOptions {
                columns: ColumnSelection::All,
            };
            let learned = open(file, options)?;
            jobs.add(
                &learned,
                0..learned.jobs.len(),
                &names.number(&learned),
                &clock,
            );
        }
        if self.earlier {
            let end = record.jobs.len() - trace.jobs.len();
            let rows = end.saturating_sub(MAX_EARLIER_RECORDS)..end;
            jobs.add(record, rows, &names.number(record), &clock);
        }
        Ok(LearnedJobs {
            n_learned: jobs.ended.len(),
            n_late: jobs.n_late,
            history: LearnedHistory::of(jobs.ended),
        })
    }
}

impl RunClock {
    fn of(trace: &Trace) -> Self {
        let submits = trace.jobs.iter().map(|job| job.submit);
        Self {
            unix_start: trace.unix_start,
            first: submits.min().unwrap_or(Instant::ZERO),
        }
    }

    /// Returns the origin of this clock on the clock of another trace. The clocks of two traces are
    /// the same where the calendar date of one of them is unknown.
    fn origin_in(&self, other: &Trace) -> Instant {
        let dates = self.unix_start.zip(other.unix_start);
        self.first + dates.map_or(Span::ZERO, |(own, other)| own.since(other))
    }
}

impl JobCollector {
    /// Adds the jobs in `rows` that ran and ended before the run. A job whose wait is unknown counts as
    /// started at its submission.
    fn add(
        &mut self,
        trace: &Trace,
        rows: Range<usize>,
        names: &NumberedJobs<'_>,
        clock: &RunClock,
    ) {
        let origin = clock.origin_in(trace);
        for row in rows {
            let job = &trace.jobs[row];
            if job.runtime <= Span::ZERO {
                continue;
            }
            let submit = Instant::ZERO + job.submit.since(origin);
            let wait = trace.usage(row).wait.unwrap_or(Span::ZERO);
            let finish = submit + wait + job.runtime;
            if finish >= Instant::ZERO {
                self.n_late += 1;
                continue;
            }
            let known = names.context(row);
            let ended = CompletedJob {
                job: ForecastJob {
                    class: known.class,
                    procs: job.procs,
                    request: known.has_user_estimate.then_some(job.estimate),
                    context: known.context,
                },
                submit,
                finish,
                runtime: job.runtime,
            };
            self.ended.push((names.user(row), ended));
        }
    }
}
