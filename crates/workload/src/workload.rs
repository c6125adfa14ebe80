//! The jobs of a run: a trace under settings and a market.

use std::sync::Arc;

use tollgate_model::{Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_trace::{NodeCountSource, Trace, TraceJob, TraceSla};

use crate::row_selection::RowSelection;
use crate::settings::{WorkloadConfig, WorkloadConfigError};
use crate::sla::SlaModel;

/// Run time of a job that never ran, if these jobs are kept.
const ONE_SECOND: Span = Span::from_secs(1);

/// The jobs of a run in order of submission, computed on the fly. A trace may have millions of
/// jobs; runs in parallel share one trace without a second copy.
#[derive(Clone, Debug)]
pub struct Workload {
    trace: Arc<Trace>,
    settings: WorkloadConfig,
    market: Market,
    rows: RowSelection,
    origin: Instant,
    mean_runtime: Option<f64>,
    model: SlaModel,
    drawn: SynthesisedSlas,
}

/// A job as it arrives in a world: its specification, and the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobArrival {
    /// The specification, which a policy may see.
    pub spec: JobSpec,
    /// True run time on each of its processors. Positive.
    pub runtime: Span,
}

/// The number of SLA parts that were drawn at random because the trace does not have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynthesisedSlas {
    /// Deadlines.
    pub deadlines: usize,
    /// Budgets; 0 if users do not pay.
    pub budgets: usize,
    /// Penalty rates; 0 if users do not pay.
    pub penalties: usize,
}

impl Workload {
    /// Creates the jobs of `trace` under `settings`, with the SLA parts that `market` needs.
    ///
    /// # Errors
    /// If a setting is outside its range.
    ///
    /// # Panics
    /// If the trace has 2^32 jobs or more.
    pub fn new(
        trace: Arc<Trace>,
        settings: WorkloadConfig,
        market: Market,
    ) -> Result<Self, WorkloadConfigError> {
        settings.validate()?;
        let rows = RowSelection::of(&trace.jobs, settings.never_ran);
        let mean_runtime = mean_runtime(&trace, &rows);
        Ok(Self {
            origin: first_submit(&trace),
            model: SlaModel::new(&settings, mean_runtime.unwrap_or_default()),
            drawn: count_synthesised(&trace, &rows, market),
            mean_runtime,
            trace,
            settings,
            market,
            rows,
        })
    }

    /// Returns the number of jobs.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no jobs: the trace is empty, or no job of it ever ran.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns every job, by submit time; ties in file order.
    pub fn arrivals(&self) -> impl ExactSizeIterator<Item = JobArrival> {
        (0..self.len()).map(|i| self.arrival(i))
    }

    /// Returns the `i`-th job, from 0.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn arrival(&self, i: usize) -> JobArrival {
        let job = self.job(i);
        let runtime = runtime_of(job);
        JobArrival {
            spec: JobSpec {
                submit: self.submit(job),
                estimate: self.estimate(job, runtime),
                procs: job.procs,
                memory: 0,
                user: self.user(self.row(i)),
                sla: self.sla(self.row(i), runtime),
            },
            runtime,
        }
    }

    /// Returns the public number of the `i`-th job, from 0.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn number(&self, i: usize) -> u64 {
        self.job(i).number
    }

    /// Returns the row of the `i`-th job in the trace, for its other columns.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn row(&self, i: usize) -> usize {
        self.rows.get(i)
    }

    /// Returns the trace of the jobs.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the settings of the run.
    pub const fn settings(&self) -> &WorkloadConfig {
        &self.settings
    }

    /// Returns the market of the run.
    pub const fn market(&self) -> Market {
        self.market
    }

    /// Returns the mean run time, the threshold between longer and shorter jobs; None without jobs.
    pub fn mean_runtime(&self) -> Option<Span> {
        self.mean_runtime.map(Span::from_secs_f64)
    }

    /// Returns the number of jobs of the trace that were removed because they never ran.
    pub fn dropped(&self) -> usize {
        self.trace.jobs.len() - self.rows.len()
    }

    /// Returns the number of SLA parts that were drawn at random.
    pub const fn synthesised(&self) -> SynthesisedSlas {
        self.drawn
    }

    /// Returns the size of the machine, and its source: see [`Trace::nodes`].
    pub fn nodes(&self) -> (u32, NodeCountSource) {
        self.trace.nodes()
    }

    fn job(&self, i: usize) -> &TraceJob {
        &self.trace.jobs[self.row(i)]
    }

    /// Returns arrival factor x (trace submit - first submit).
    fn submit(&self, job: &TraceJob) -> Instant {
        Instant::ZERO + scaled(job.submit.since(self.origin), self.settings.arrival_factor)
    }

    /// Returns run time + inaccuracy x (trace estimate - run time), at least the smallest step of
    /// time.
    fn estimate(&self, job: &TraceJob, runtime: Span) -> Span {
        if job.estimate <= Span::ZERO {
            return runtime;
        }
        let error = scaled(job.estimate - runtime, self.settings.inaccuracy);
        (runtime + error).max(Span::TICK)
    }

    /// Returns the user of a job. Jobs without a user are taken to be one user's.
    fn user(&self, row: usize) -> UserId {
        let metadata = self.trace.metadata.as_ref();
        let label = metadata.and_then(|metadata| metadata.user.id(row));
        UserId(label.map_or(u32::MAX, |label| label.index() as u32))
    }

    /// Returns the SLA of the trace, with missing parts drawn.
    fn sla(&self, row: usize, runtime: Span) -> Sla {
        let carried = traced_sla(&self.trace, row);
        let job = row as u64;
        let deadline = carried
            .deadline
            .unwrap_or_else(|| self.model.deadline(job, runtime));
        let (budget, penalty) = match self.market {
            Market::None => (carried.budget, carried.penalty),
            Market::Commodity | Market::Bid => (
                Some(
                    carried
                        .budget
                        .unwrap_or_else(|| self.model.budget(job, runtime)),
                ),
                Some(
                    carried
                        .penalty
                        .unwrap_or_else(|| self.model.penalty(job, runtime)),
                ),
            ),
        };
        Sla {
            deadline: Some(deadline),
            budget,
            penalty: penalty.unwrap_or_default(),
        }
    }
}

/// Returns `span` times `factor`; exactly `span` at 1, at any size.
fn scaled(span: Span, factor: f64) -> Span {
    if factor == 1.0 {
        return span;
    }
    Span::from_micros((span.as_micros() as f64 * factor).round() as i64)
}

fn runtime_of(job: &TraceJob) -> Span {
    if job.runtime > Span::ZERO {
        job.runtime
    } else {
        ONE_SECOND
    }
}

fn traced_sla(trace: &Trace, row: usize) -> TraceSla {
    trace
        .slas
        .as_ref()
        .map_or_else(TraceSla::default, |slas| slas[row])
}

/// Returns the first submit of the whole set: times do not depend on whether the first job ever
/// ran.
fn first_submit(trace: &Trace) -> Instant {
    let submits = trace.jobs.iter().map(|job| job.submit);
    submits.min().unwrap_or(Instant::ZERO)
}

/// Returns the mean run time in seconds.
fn mean_runtime(trace: &Trace, rows: &RowSelection) -> Option<f64> {
    let micros: i128 = rows
        .iter()
        .map(|row| i128::from(runtime_of(&trace.jobs[row]).as_micros()))
        .sum();
    (rows.len() > 0).then(|| micros as f64 / 1e6 / rows.len() as f64)
}

fn count_synthesised(trace: &Trace, rows: &RowSelection, market: Market) -> SynthesisedSlas {
    let missing = |part: fn(&TraceSla) -> bool| {
        rows.iter()
            .filter(|&row| part(&traced_sla(trace, row)))
            .count()
    };
    let deadlines = missing(|sla| sla.deadline.is_none());
    match market {
        Market::None => SynthesisedSlas {
            deadlines,
            ..SynthesisedSlas::default()
        },
        Market::Commodity | Market::Bid => SynthesisedSlas {
            deadlines,
            budgets: missing(|sla| sla.budget.is_none()),
            penalties: missing(|sla| sla.penalty.is_none()),
        },
    }
}
