//! The jobs of a run: a trace under settings and a market.

use std::sync::Arc;

use tollgate_model::{Bytes, Instant, JobSpec, Market, Sla, Span};
use tollgate_trace::{NodeCountSource, Trace, TraceJob, TraceSla};

use crate::deadline::clock::SiteClock;
use crate::deadline::{CausalDeadlines, SubmittedJob};
use crate::requests::RequestSubstitutes;
use crate::row_selection::{RowSelection, user_of};
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
    /// By row, what the trace does not have: the deadlines of a model that does not look at true run times.
    /// None if the model does.
    deadlines: Option<Vec<Option<Span>>>,
    clock: Option<SiteClock>,
    counts: DeadlineCounts,
    drawn: SynthesisedSlas,
    substitutes: RequestSubstitutes,
}

/// A job as it arrives in a world: its specification, and the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobArrival {
    /// The specification, which a policy may see.
    pub spec: JobSpec,
    /// True run time on each of its processors. Positive: [`Span::TICK`] if the record says 0 s, since the
    /// job ran for less than the unit of the record.
    pub runtime: Span,
    /// Memory of the whole job that its user requested; zero if not specified. The specification does not have it.
    pub requested_memory: Bytes,
    /// Whether the job has a request of its own, which is also the limit on its run time. The estimate
    /// of any other job is that of the policy, and kills nothing.
    pub is_requested: bool,
}

impl JobArrival {
    /// Returns the specification on a machine whose nodes have this memory: the job gets as many processors as the memory
    /// needs that it requested. None if memory does not count.
    #[must_use]
    pub fn spec_on(&self, node_memory: Option<Bytes>) -> JobSpec {
        match node_memory {
            Some(_) => self.spec.with_memory(self.requested_memory, node_memory),
            None => self.spec,
        }
    }
}

/// The jobs of a run whose record has no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingRequests {
    /// All of them. The estimate of a job is the median of the requests before it: of its user and
    /// program, else of the site.
    pub jobs: usize,
    /// Jobs before which no request is known: their estimate is their run time, which was unknown at
    /// submission.
    pub leaking: usize,
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

/// The jobs of a run by their deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineCounts {
    /// Jobs with a deadline.
    pub given: usize,
    /// Jobs whose run time is at most their deadline. No policy fulfils any other job.
    pub possible: usize,
    /// Jobs without a deadline, because the model has none for them.
    pub missing: usize,
}

impl DeadlineCounts {
    /// Returns the possible deadlines in % of all deadlines, 0 to 100; None without deadlines.
    pub fn possible_pct(&self) -> Option<f64> {
        (self.given > 0).then(|| self.possible as f64 / self.given as f64 * 100.0)
    }
}

impl Workload {
    /// Creates the jobs of `trace` under `settings`, with the SLA parts that `market` needs. The
    /// trace must have the columns of [`crate::DeadlineModel::columns`].
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
        let record = trace.clone();
        Self::cut_from(&record, trace, settings, market)
    }

    /// Creates the jobs of `trace`, which was cut from `record`: users remember the run times of the
    /// whole record.
    ///
    /// # Errors
    /// As [`Workload::new`].
    ///
    /// # Panics
    /// As [`Workload::new`].
    pub fn cut_from(
        record: &Trace,
        trace: Arc<Trace>,
        settings: WorkloadConfig,
        market: Market,
    ) -> Result<Self, WorkloadConfigError> {
        settings.validate()?;
        let rows = RowSelection::of(&trace.jobs, settings.never_ran);
        let mean_runtime = mean_runtime(&trace, &rows);
        let mut workload = Self {
            origin: first_submit(&trace),
            model: SlaModel::new(&settings, mean_runtime.unwrap_or_default()),
            deadlines: None,
            clock: None,
            counts: DeadlineCounts::default(),
            drawn: SynthesisedSlas::default(),
            substitutes: RequestSubstitutes::of(&trace, &rows),
            mean_runtime,
            trace,
            settings,
            market,
            rows,
        };
        if let Some(mut model) = CausalDeadlines::new(&settings, &workload.trace, record) {
            let deadlines = workload.draw_deadlines(&mut model);
            workload.clock = model.into_clock();
            workload.deadlines = Some(deadlines);
        }
        workload.counts = workload.count_deadlines();
        workload.drawn = workload.count_synthesised();
        Ok(workload)
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

    /// Returns the same jobs without their SLAs, whose draws take most of the time of an arrival.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = JobArrival> {
        (0..self.len()).map(|i| self.request(i))
    }

    /// Returns the `i`-th job, from 0.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn arrival(&self, i: usize) -> JobArrival {
        let mut arrival = self.request(i);
        arrival.spec.sla = self.sla(self.row(i), arrival.runtime);
        arrival
    }

    /// Returns the arrival of the `i`-th job without its SLA.
    fn request(&self, i: usize) -> JobArrival {
        let job = self.job(i);
        let runtime = runtime_of(job);
        JobArrival {
            spec: JobSpec {
                restarts: 0,
                submit: self.submit(job),
                estimate: self.estimate(self.row(i), runtime),
                procs: job.procs,
                memory: 0,
                needs: Default::default(),
                user: user_of(&self.trace, self.row(i)),
                sla: Sla::default(),
            },
            runtime,
            requested_memory: self.requested_memory(self.row(i)),
            is_requested: job.is_estimated,
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

    /// Returns the numbers of jobs without a request.
    pub const fn missing_requests(&self) -> MissingRequests {
        MissingRequests {
            jobs: self.substitutes.missing,
            leaking: self.substitutes.without_substitute,
        }
    }

    /// Returns the numbers of possible, impossible and missing deadlines.
    pub const fn deadline_counts(&self) -> DeadlineCounts {
        self.counts
    }

    /// Returns the clock that drawn deadlines follow, if they follow one.
    pub const fn deadline_clock(&self) -> Option<&SiteClock> {
        self.clock.as_ref()
    }

    /// Returns the size of the machine, and its source: see [`Trace::nodes`].
    pub fn nodes(&self) -> (u32, NodeCountSource) {
        self.trace.nodes()
    }

    fn requested_memory(&self, row: usize) -> Bytes {
        let requested = self.trace.usage(row).requested_memory;
        requested.unwrap_or(Bytes::ZERO)
    }

    fn job(&self, i: usize) -> &TraceJob {
        &self.trace.jobs[self.row(i)]
    }

    /// Returns arrival factor x (trace submit - first submit).
    fn submit(&self, job: &TraceJob) -> Instant {
        Instant::ZERO + scaled(job.submit.since(self.origin), self.settings.arrival_factor)
    }

    /// Returns run time + inaccuracy x (request - run time), at least the smallest step of time.
    fn estimate(&self, row: usize, runtime: Span) -> Span {
        let request = match self.substitutes.get(row) {
            Some(substitute) => substitute,
            None => self.trace.jobs[row].estimate,
        };
        if request <= Span::ZERO {
            return runtime;
        }
        let error = scaled(request - runtime, self.settings.inaccuracy);
        (runtime + error).max(Span::TICK)
    }

    /// Returns the SLA of the trace, with missing parts drawn.
    fn sla(&self, row: usize, runtime: Span) -> Sla {
        let carried = traced_sla(&self.trace, row);
        let job = row as u64;
        let deadline = carried
            .deadline
            .or_else(|| self.drawn_deadline(row, runtime));
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
            deadline,
            budget,
            penalty: penalty.unwrap_or_default(),
            ..Sla::default()
        }
    }

    /// Returns the deadline of a job whose record has none.
    fn drawn_deadline(&self, row: usize, runtime: Span) -> Option<Span> {
        let row = Some(row).filter(|&row| self.model.draws_deadline(row as u64))?;
        match &self.deadlines {
            Some(deadlines) => deadlines[row],
            None => Some(self.model.deadline(row as u64, runtime)),
        }
    }

    /// Draws the deadline of every job that takes part and whose record has none.
    fn draw_deadlines(&self, model: &mut CausalDeadlines<'_>) -> Vec<Option<Span>> {
        let mut deadlines = vec![None; self.trace.jobs.len()];
        for row in self.rows.iter() {
            if traced_sla(&self.trace, row).deadline.is_some() {
                continue;
            }
            let job = &self.trace.jobs[row];
            let is_requested = self.trace.has_estimate(row) && job.estimate > Span::ZERO;
            let known = SubmittedJob {
                row,
                submit: self.origin + self.submit(job).since(Instant::ZERO),
                request: is_requested.then_some(job.estimate),
                user: user_of(&self.trace, row),
            };
            deadlines[row] = model.deadline(&known, &self.model);
        }
        deadlines
    }

    fn count_deadlines(&self) -> DeadlineCounts {
        let mut counts = DeadlineCounts::default();
        for row in self.rows.iter() {
            let runtime = runtime_of(&self.trace.jobs[row]);
            let carried = traced_sla(&self.trace, row).deadline;
            // A deadline that follows from the run time is possible, and need not be drawn for that.
            let deadline = match (carried, &self.deadlines) {
                (None, None) => self.model.draws_deadline(row as u64).then_some(runtime),
                (None, Some(_)) => self.drawn_deadline(row, runtime),
                (Some(deadline), _) => Some(deadline),
            };
            counts.given += usize::from(deadline.is_some());
            counts.missing += usize::from(deadline.is_none());
            counts.possible += usize::from(deadline.is_some_and(|deadline| runtime <= deadline));
        }
        counts
    }

    fn count_synthesised(&self) -> SynthesisedSlas {
        let absent = |part: fn(&TraceSla) -> bool| {
            let slas = self.rows.iter().map(|row| traced_sla(&self.trace, row));
            slas.filter(part).count()
        };
        let deadlines = absent(|sla| sla.deadline.is_none()) - self.counts.missing;
        match self.market {
            Market::None => SynthesisedSlas {
                deadlines,
                ..SynthesisedSlas::default()
            },
            Market::Commodity | Market::Bid => SynthesisedSlas {
                deadlines,
                budgets: absent(|sla| sla.budget.is_none()),
                penalties: absent(|sla| sla.penalty.is_none()),
            },
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
    match job.ran() {
        true => job.runtime.max(Span::TICK),
        false => ONE_SECOND,
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
