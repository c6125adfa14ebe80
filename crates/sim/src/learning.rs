//! Learning from records before the first submission of a run.
//!
//! | module | contents |
//! |---|---|
//! | [`job_names`] | the numbers by which a forecaster knows users, programs, queues and accounts |

pub mod job_names;

use std::ops::Range;

use tollgate_forecast::{CompletedJob, ForecastJob, LearnedHistory};
use tollgate_model::{Instant, Span, UserId};
use tollgate_trace::Trace;

use self::job_names::{JobNames, NumberedJobs};

/// Maximum number of records before the last ones of a record that are learned.
const MAX_EARLIER_RECORDS: usize = 20_000;

/// The experience of a run at its beginning.
#[derive(Clone, Debug, Default)]
pub struct LearnedJobs {
    /// The forecasters' knowledge.
    pub history: LearnedHistory,
    /// Number of jobs that were learned.
    pub n_learned: usize,
    /// Number of jobs that ran, but had not ended by the first submission of the run.
    pub n_late: usize,
}

/// A collector of the jobs that had ended by the first submission of a run.
#[derive(Debug)]
pub struct EarlierJobs {
    clock: RunClock,
    ended: Vec<(UserId, CompletedJob)>,
    n_late: usize,
}

/// The clock of a run: zero is the first submission.
#[derive(Debug)]
struct RunClock {
    unix_start: Option<Instant>,
    first: Instant,
}

impl EarlierJobs {
    /// Creates a collector for the run of `trace`.
    pub fn before(trace: &Trace) -> Self {
        Self {
            clock: RunClock::of(trace),
            ended: Vec::new(),
            n_late: 0,
        }
    }

    /// Adds the jobs of another record. `names` has the names of the run.
    pub fn add_record(&mut self, record: &Trace, names: &mut JobNames) {
        self.add(record, 0..record.jobs.len(), &names.number(record));
    }

    /// Adds the records before the last `n_run` of `record`, which are those of the run.
    pub fn add_before_last(&mut self, record: &Trace, n_run: usize, names: &mut JobNames) {
        let end = record.jobs.len() - n_run;
        let rows = end.saturating_sub(MAX_EARLIER_RECORDS)..end;
        self.add(record, rows, &names.number(record));
    }

    /// Returns what is learned from these jobs.
    pub fn learn(self) -> LearnedJobs {
        LearnedJobs {
            n_learned: self.ended.len(),
            n_late: self.n_late,
            history: LearnedHistory::of(self.ended),
        }
    }

    /// Adds the jobs in `rows` that ran and ended before the run. A job whose wait is unknown counts as
    /// started at its submission.
    fn add(&mut self, trace: &Trace, rows: Range<usize>, names: &NumberedJobs<'_>) {
        let origin = self.clock.origin_in(trace);
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
