//! The retrospective evaluation of forecasts: every job of a record is forecast from the jobs
//! before it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{Distribution, Instant, Probability, Span};

use crate::baseline::{BaselineForecasters, BaselineMethod};
use crate::belief::{Belief, BeliefModel, Doubt};
use crate::belief_evaluation::KnownBatches;
use crate::expert::Expert;
use crate::forecaster::{Forecast, Forecaster};
use crate::look_alikes::{OpenLookAlikes, WaitingLookAlikes};
use crate::method::{ErrorSpread, ForecastMethod, N_METHODS, NormalErrors};
use crate::online::{FeedbackTiming, JobFeedback, OnlineForecaster};
use crate::record::{ClassId, CompletedJob, ln_secs};
use crate::recorded_beliefs::beliefs_at_submission;
use crate::score::{
    BrierScore, LevelCoverage, LogErrorSums, MethodScore, PointErrors, PromiseTotals,
    ScoreInterval, WeeklyTotals,
};

/// The options of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationConfig {
    /// The feedback available when a job is forecast.
    pub timing: FeedbackTiming,
    /// Minimum number of jobs that ran for a class to count as a series.
    pub min_jobs: usize,
}

/// The scores of forecasts over a record.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastEvaluation {
    /// The forecasts that are stated: the beliefs. Their score counts the jobs of series, their levels those of all
    /// classes.
    pub aggregate: MethodScore,
    /// The rival of the beliefs: the forecaster of classes, in which all experts together forecast.
    pub class_forecast: MethodScore,
    /// Each method alone, in the order of [`ForecastMethod::all`], counted the same way. A method's
    /// promise at each level is its point forecast with a normal error. The size of the error is
    /// that of the method's past errors in ln time in the class, and on the whole site before the
    /// class has enough. The user's estimate promises itself. A method without a forecast repeats
    /// the forecaster of classes.
    pub methods: Vec<MethodScore>,
    /// The probabilities that jobs stay within their requests, as stated and by the forecaster of classes.
    pub within_request: [BrierScore; 2],
    /// The intervals of pinball loss and of coverage of the beliefs by level, by blocks of weeks. None for a record of
    /// fewer than three weeks.
    pub intervals: Option<ScoreIntervals>,
    /// The beliefs by the number of look-alikes that had been submitted and not ended: jobs of the same user that ask
    /// for the same.
    pub look_alikes: BTreeMap<OpenLookAlikes, MethodScore>,
    /// The beliefs by the number of batches known.
    pub batches: BTreeMap<KnownBatches, MethodScore>,
    /// The beliefs by whether the last batches of the class ran as they were believed to.
    pub doubts: BTreeMap<Doubt, MethodScore>,
    /// By series, over its jobs.
    pub classes: BTreeMap<ClassId, ForecastMetrics>,
    /// By period, over the jobs of all classes.
    pub periods: BTreeMap<i64, ForecastMetrics>,
}

/// The intervals of the scores of all jobs, by level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreIntervals {
    /// Of the pinball loss.
    pub pinball: [ScoreInterval; N_LEVELS],
    /// Of the coverage.
    pub coverage: [ScoreInterval; N_LEVELS],
}

/// The scores of forecasts over a set of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastMetrics {
    /// The beliefs.
    pub aggregate: MethodScore,
    /// The forecaster of classes.
    pub class_forecast: MethodScore,
    /// The mean |ln error| of each method, in the order of [`ForecastMethod::all`].
    pub mean_abs_ln: [f64; N_METHODS],
}

/// A forecast of all methods or levels together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoredForecast {
    /// The beliefs, which are stated.
    Beliefs,
    /// The forecaster of classes.
    Classes,
}

impl ScoredForecast {
    const fn score(self, metrics: &ForecastMetrics) -> &MethodScore {
        match self {
            Self::Beliefs => &metrics.aggregate,
            Self::Classes => &metrics.class_forecast,
        }
    }
}

/// An observer of an evaluation.
pub trait EvaluationObserver {
    /// Receives the belief about the job with index `nth` in order of submission, and the `forecast` of its class.
    fn forecast(
        &mut self,
        _nth: u64,
        _record: &CompletedJob,
        _belief: &Belief,
        _forecast: &Forecast,
    ) {
    }
    /// Receives the feedback of an ended job after it was learned.
    fn learned(&mut self, _learned: &JobFeedback) {}
}

/// The observer that does nothing.
impl EvaluationObserver for () {}

impl ForecastEvaluation {
    /// Returns the score of one method.
    pub fn method(&self, method: ForecastMethod) -> &MethodScore {
        &self.methods[method.index()]
    }

    /// Returns the fraction of series in which the level of this index was kept within `tolerance`
    /// (a fraction); None without series.
    pub fn classes_within(
        &self,
        source: ScoredForecast,
        level_idx: usize,
        tolerance: f64,
    ) -> Option<f64> {
        let nominal = LEVELS[level_idx].as_f64();
        self.fraction_of_classes(|figures| {
            let coverage = source.score(figures).levels[level_idx].coverage();
            coverage.is_some_and(|coverage| (coverage - nominal).abs() <= tolerance)
        })
    }

    /// Returns the fraction of series in which this source has a smaller mean |ln error| than
    /// `method` alone; None without series.
    pub fn classes_better_than(
        &self,
        source: ScoredForecast,
        method: ForecastMethod,
    ) -> Option<f64> {
        self.fraction_of_classes(|figures| {
            let alone = figures.mean_abs_ln[method.index()];
            let together = source.score(figures).score.mean_abs_ln;
            together.is_some_and(|together| together < alone)
        })
    }

    fn fraction_of_classes(&self, holds: impl Fn(&ForecastMetrics) -> bool) -> Option<f64> {
        let n_classes = self.classes.len();
        let holding = self.classes.values().filter(|figures| holds(figures));
        (n_classes > 0).then(|| holding.count() as f64 / n_classes as f64)
    }
}

/// Forecasts and learns every job of `records` that ran, in order of submission (ties in the order
/// given), starting with the knowledge of `forecaster` and `beliefs`. `period` maps an instant of submission to a
/// period, such as a month. The jobs of a class count as those of one user.
pub fn evaluate(
    forecaster: Forecaster,
    beliefs: BeliefModel,
    records: &[CompletedJob],
    trial: EvaluationConfig,
    period: impl Fn(Instant) -> i64,
    witness: &mut impl EvaluationObserver,
) -> ForecastEvaluation {
    let go_on = || ControlFlow::<Infallible>::Continue(());
    let ControlFlow::Continue(evaluated) =
        try_evaluate(forecaster, beliefs, records, trial, period, witness, go_on);
    evaluated
}

/// Evaluates forecasts as [`evaluate`] does. `on_job` is called at least once for each job; its break ends the evaluation.
pub fn try_evaluate<B>(
    forecaster: Forecaster,
    beliefs: BeliefModel,
    records: &[CompletedJob],
    trial: EvaluationConfig,
    period: impl Fn(Instant) -> i64,
    witness: &mut impl EvaluationObserver,
    on_job: impl Fn() -> ControlFlow<B>,
) -> ControlFlow<B, ForecastEvaluation> {
    let ran = records.iter().filter(|r| ln_secs(r.runtime).is_some());
    let mut ran: Vec<CompletedJob> = ran.copied().collect();
    ran.sort_by_key(|record| record.submit);
    let mut jobs_of = BTreeMap::<ClassId, usize>::new();
    for record in &ran {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    let stated = beliefs_at_submission(beliefs, &ran, trial.timing, &on_job)?;
    let mut waiting = WaitingLookAlikes::new(trial.timing);
    let mut course = OnlineForecaster::new(forecaster, trial.timing);
    let mut rivals = MethodComparison::default();
    let mut tally = EvaluationTotals::default();
    for (nth, (record, belief)) in (0..).zip(ran.iter().zip(&stated)) {
        on_job()?;
        let mut ended = Vec::new();
        course.advance(record.submit, &mut |learned| ended.push(learned));
        for learned in &ended {
            rivals.learn(learned);
            witness.learned(learned);
        }
        let class = course.forecaster().forecast(&record.job);
        let points = rivals.forecast(record, &class);
        let belief = belief.as_ref().expect("every job ran");
        let job = CountedJob {
            record,
            belief,
            class: &class,
            points: &points,
            is_of_series: jobs_of[&record.job.class] >= trial.min_jobs,
            look_alikes: waiting.submit(record),
        };
        let errors = rivals.errors.of_class(record.job.class);
        tally.count(&job, errors, period(record.submit));
        witness.forecast(nth, record, belief, &class);
        rivals.predictions.insert(nth, points);
        course.track(record, &class, &mut |learned| {
            rivals.learn(&learned);
            witness.learned(&learned);
        });
    }
    course.finish(|learned| witness.learned(&learned));
    ControlFlow::Continue(tally.evaluation())
}

/// The methods besides the aggregate.
#[derive(Default)]
struct MethodComparison {
    baselines: BaselineForecasters,
    errors: NormalErrors,
    /// Each method's forecasts of the jobs that have not been learned yet.
    predictions: BTreeMap<u64, [f64; N_METHODS]>,
}

impl MethodComparison {
    /// Returns each method's forecast, as a logarithm of seconds.
    fn forecast(&self, record: &CompletedJob, stated: &Forecast) -> [f64; N_METHODS] {
        let together = stated.point();
        let baselines = self.baselines.forecast(&record.job);
        ForecastMethod::all().map(|method| {
            let alone = match method {
                ForecastMethod::Expert(expert) => stated.expert_forecast(expert),
                ForecastMethod::Baseline(baseline) => baselines[baseline as usize],
            };
            ln_secs(alone.unwrap_or(together)).unwrap_or(0.0)
        })
    }

    fn learn(&mut self, learned: &JobFeedback) {
        let record = &learned.record;
        if let (Some(points), Some(ln_run)) = (
            self.predictions.remove(&learned.nth),
            ln_secs(record.runtime),
        ) {
            self.errors.learn(record.job.class, &points, ln_run);
        }
        self.baselines.learn(&record.job, record.runtime);
    }
}

/// A job with all that is known when it is counted.
struct CountedJob<'a> {
    record: &'a CompletedJob,
    belief: &'a Belief,
    class: &'a Forecast,
    points: &'a [f64; N_METHODS],
    is_of_series: bool,
    look_alikes: OpenLookAlikes,
}

/// The sums of the errors and the promises of one method.
type MethodTotals = (PointErrors, PromiseTotals);

#[derive(Default)]
struct EvaluationTotals {
    together: MethodTotals,
    class: MethodTotals,
    alone: Vec<MethodTotals>,
    classes: BTreeMap<ClassId, GroupTotals>,
    periods: BTreeMap<i64, GroupTotals>,
    within_request: [BrierScore; 2],
    weeks: WeeklyTotals,
    look_alikes: BTreeMap<OpenLookAlikes, MethodTotals>,
    batches: BTreeMap<KnownBatches, MethodTotals>,
    doubts: BTreeMap<Doubt, MethodTotals>,
}

/// The sums over a class or a period.
#[derive(Default)]
struct GroupTotals {
    together: MethodTotals,
    class: MethodTotals,
    alone: LogErrorSums<N_METHODS>,
}

fn bounds(distribution: &Distribution) -> [f64; N_LEVELS] {
    distribution.quantiles().map(Span::as_secs_f64)
}

impl EvaluationTotals {
    fn count(&mut self, job: &CountedJob<'_>, errors: &ErrorSpread, period: i64) {
        self.count_methods(job, errors);
        self.count_requests(job);
        let record = job.record;
        let (actual, actual_secs) = (record.runtime, record.runtime.as_secs_f64());
        let point = job.belief.distribution.median().as_secs_f64();
        let bounds = bounds(&job.belief.distribution);
        let class_point = job.class.point().as_secs_f64();
        let class_bounds = self::bounds(&job.class.distribution());
        self.weeks.push(record.submit, &bounds, actual_secs);
        let class = job.is_of_series.then_some(record.job.class);
        let class = class.map(|class| self.classes.entry(class).or_default());
        let period = self.periods.entry(period).or_default();
        let ln_run = ln_secs(actual).unwrap_or(0.0);
        for part in class.into_iter().chain([period]) {
            part.together.0.push(point, actual);
            part.together.1.push(&bounds, actual_secs);
            part.class.0.push(class_point, actual);
            part.class.1.push(&class_bounds, actual_secs);
            part.alone.push(job.points, ln_run);
        }
        let known = KnownBatches::of(job.belief.basis.n_batches);
        for part in [
            self.look_alikes.entry(job.look_alikes).or_default(),
            self.batches.entry(known).or_default(),
            self.doubts.entry(job.belief.basis.doubt).or_default(),
        ] {
            part.0.push(point, actual);
            part.1.push(&bounds, actual_secs);
        }
    }

    /// Counts the job for each method as a whole.
    fn count_methods(&mut self, job: &CountedJob<'_>, errors: &ErrorSpread) {
        let (actual, actual_secs) = (job.record.runtime, job.record.runtime.as_secs_f64());
        self.alone.resize_with(N_METHODS, Default::default);
        let alone = ForecastMethod::all().into_iter().zip(job.points);
        let alone = alone.map(|(method, point)| (point.exp(), errors.bounds(method, *point)));
        let both = [
            (
                job.belief.distribution.median().as_secs_f64(),
                bounds(&job.belief.distribution),
            ),
            (
                job.class.point().as_secs_f64(),
                bounds(&job.class.distribution()),
            ),
        ];
        let totals = [&mut self.together, &mut self.class];
        let totals = totals.into_iter().chain(&mut self.alone);
        for (totals, (point, bounds)) in totals.zip(both.into_iter().chain(alone)) {
            totals.1.push(&bounds, actual_secs);
            if job.is_of_series {
                totals.0.push(point, actual);
            }
        }
    }

    /// Counts the probabilities that the job stays within its request.
    fn count_requests(&mut self, job: &CountedJob<'_>) {
        let request = job.record.job.request;
        let stated = request.zip(job.belief.within_request);
        if let Some((request, stated)) = stated {
            let is_within = job.record.runtime <= request;
            let by_class: Probability = job.class.distribution().probability_within(request);
            for (score, stated) in self.within_request.iter_mut().zip([stated, by_class]) {
                score.push(stated, is_within);
            }
        }
    }

    fn evaluation(self) -> ForecastEvaluation {
        let parts = |parts: GroupTotals| ForecastMetrics {
            aggregate: outcome(parts.together),
            class_forecast: outcome(parts.class),
            mean_abs_ln: parts.alone.means(),
        };
        let intervals = self.weeks.intervals(LevelCoverage::pinball);
        let intervals = intervals.zip(self.weeks.intervals(LevelCoverage::coverage));
        ForecastEvaluation {
            aggregate: outcome(self.together),
            class_forecast: outcome(self.class),
            methods: self.alone.into_iter().map(outcome).collect(),
            within_request: self.within_request,
            intervals: intervals.map(|(pinball, coverage)| ScoreIntervals { pinball, coverage }),
            look_alikes: outcomes(self.look_alikes),
            batches: outcomes(self.batches),
            doubts: outcomes(self.doubts),
            classes: (self.classes.into_iter())
                .map(|(id, part)| (id, parts(part)))
                .collect(),
            periods: (self.periods.into_iter())
                .map(|(id, part)| (id, parts(part)))
                .collect(),
        }
    }
}

fn outcomes<K: Ord>(parts: BTreeMap<K, MethodTotals>) -> BTreeMap<K, MethodScore> {
    let parts = parts.into_iter();
    parts.map(|(key, totals)| (key, outcome(totals))).collect()
}

fn outcome((errors, promises): (PointErrors, PromiseTotals)) -> MethodScore {
    MethodScore {
        score: errors.score(),
        levels: promises.levels(),
    }
}

/// The methods that the beliefs are compared with first.
const COMPARED: [ForecastMethod; 3] = [
    ForecastMethod::Expert(Expert::Last),
    ForecastMethod::Baseline(BaselineMethod::Tsafrir),
    ForecastMethod::Baseline(BaselineMethod::Estimate),
];

/// Returns every method as readers look for them: first the established ones.
pub fn methods_to_read() -> impl Iterator<Item = ForecastMethod> {
    let all = ForecastMethod::all().into_iter();
    let others = all.filter(|method| !COMPARED.contains(method));
    COMPARED.into_iter().chain(others)
}
