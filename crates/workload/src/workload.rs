//! The jobs of a run: a trace under settings and a market.

use std::sync::Arc;

use tollgate_model::{Instant, JobSpec, Market, Sla, Span};

use crate::row_selection::RowSelection;
use crate::settings::{WorkloadConfig, WorkloadConfigError};
use crate::sla::SlaModel;
use crate::trace::{NodeCountSource, Trace, TraceJob, TraceSla};

/// How long a job runs that never ran, where these are kept.
const ONE_SECOND: Span = Span::from_secs(1);

/// The jobs of a run in order of submission, computed on the fly: no second copy of a trace
/// that may have millions of jobs, and runs side by side share one trace.
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

/// A job as a world meets it: what its user hands in, and the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobArrival {
    /// What a policy may see.
    pub spec: JobSpec,
    /// How long it really runs on each of its processors. Positive.
    pub runtime: Span,
}

/// How many SLA parts were drawn at random because the trace does not carry them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynthesisedSlas {
    /// Deadlines.
    pub deadlines: usize,
    /// Budgets; none are drawn where nobody pays.
    pub budgets: usize,
    /// Penalty rates; none are drawn where nobody pays.
    pub penalties: usize,
}

impl Workload {
    /// The jobs of `trace` under `settings`, with what `market` needs of their SLAs.
    ///
    /// # Errors
    /// A setting outside its range.
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

    /// How many jobs there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none: an empty trace, or one in which nothing ever ran.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every job, by submit time; ties in file order.
    pub fn arrivals(&self) -> impl ExactSizeIterator<Item = JobArrival> {
        (0..self.len()).map(|i| self.arrival(i))
    }

    /// The `i`-th job, from 0.
    ///
    /// # Panics
    /// If there is none.
    pub fn arrival(&self, i: usize) -> JobArrival {
        let job = self.job(i);
        let runtime = runtime_of(job);
        JobArrival {
            spec: JobSpec {
                submit: self.submit(job),
                estimate: self.estimate(job, runtime),
                procs: job.procs,
                memory: 0,
                sla: self.sla(self.row(i), runtime),
            },
            runtime,
        }
    }

    /// The public number of the `i`-th job, from 0.
    ///
    /// # Panics
    /// If there is none.
    pub fn number(&self, i: usize) -> u64 {
        self.job(i).number
    }

    /// The row of the `i`-th job in the trace, for its other columns.
    ///
    /// # Panics
    /// If there is none.
    pub fn row(&self, i: usize) -> usize {
        self.rows.get(i)
    }

    /// Where the jobs come from.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The settings of the run.
    pub const fn settings(&self) -> &WorkloadConfig {
        &self.settings
    }

    /// Who pays what in the run.
    pub const fn market(&self) -> Market {
        self.market
    }

    /// The mean run time, which tells longer from shorter jobs; none without jobs.
    pub fn mean_runtime(&self) -> Option<Span> {
        self.mean_runtime.map(Span::from_secs_f64)
    }

    /// How many jobs of the trace were left out because they never ran.
    pub fn dropped(&self) -> usize {
        self.trace.jobs.len() - self.rows.len()
    }

    /// What had to be drawn at random.
    pub const fn synthesised(&self) -> SynthesisedSlas {
        self.drawn
    }

    /// The size of the machine, and where that is known from: see [`Trace::nodes`].
    pub fn nodes(&self) -> (u32, NodeCountSource) {
        self.trace.nodes()
    }

    fn job(&self, i: usize) -> &TraceJob {
        &self.trace.jobs[self.row(i)]
    }

    /// Arrival factor x (trace submit - first submit).
    fn submit(&self, job: &TraceJob) -> Instant {
        Instant::ZERO + scaled(job.submit.since(self.origin), self.settings.arrival_factor)
    }

    /// Run time + inaccuracy x (trace estimate - run time), at least the smallest step of time.
    fn estimate(&self, job: &TraceJob, runtime: Span) -> Span {
        if job.estimate <= Span::ZERO {
            return runtime;
        }
        let error = scaled(job.estimate - runtime, self.settings.inaccuracy);
        (runtime + error).max(Span::TICK)
    }

    /// What the trace carries is used as it is; the rest is drawn.
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

/// `span` times `factor`; exactly `span` at 1, whatever its size.
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

/// The first submit of the whole set: times do not depend on whether the first job ever ran.
fn first_submit(trace: &Trace) -> Instant {
    let submits = trace.jobs.iter().map(|job| job.submit);
    submits.min().unwrap_or(Instant::ZERO)
}

/// In seconds.
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
