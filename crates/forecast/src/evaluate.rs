//! The retrospective evaluation of forecasts: every job of a record is forecast from the jobs
//! before it.

use std::collections::BTreeMap;

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Instant, Span};

use crate::baseline::{BaselineForecasters, BaselineMethod};
use crate::expert::Expert;
use crate::forecaster::{Forecast, Forecaster};
use crate::method::{ErrorSpread, ForecastMethod, N_METHODS, NormalErrors};
use crate::online::{FeedbackTiming, JobFeedback, OnlineForecaster};
use crate::record::{ClassId, CompletedJob, ln_secs};
use crate::score::{LogErrorSums, MethodScore, PointErrors, PromiseTotals};

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
    /// The aggregate of the experts. Its score counts the jobs of series, its levels those of all
    /// classes.
    pub aggregate: MethodScore,
    /// Each method alone, in the order of [`ForecastMethod::all`], counted the same way. A method's
    /// promise at each level is its point forecast with a normal error. The size of the error is
    /// that of the method's past errors in ln time in the class, and on the whole site before the
    /// class has enough. The user's estimate promises itself. A method without a forecast repeats
    /// the aggregate.
    pub methods: Vec<MethodScore>,
    /// By series, over its jobs.
    pub classes: BTreeMap<ClassId, ForecastMetrics>,
    /// By period, over the jobs of all classes.
    pub periods: BTreeMap<i64, ForecastMetrics>,
}

/// The scores of forecasts over a set of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastMetrics {
    /// The aggregate of the experts.
    pub aggregate: MethodScore,
    /// The mean |ln error| of each method, in the order of [`ForecastMethod::all`].
    pub mean_abs_ln: [f64; N_METHODS],
}

/// An observer of an evaluation.
pub trait EvaluationObserver {
    /// Receives the `forecast` of the job with index `nth` in order of submission.
    fn forecast(&mut self, _nth: u64, _record: &CompletedJob, _forecast: &Forecast) {}
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
    pub fn classes_within(&self, level_idx: usize, tolerance: f64) -> Option<f64> {
        let nominal = LEVELS[level_idx].as_f64();
        self.fraction_of_classes(|figures| {
            let coverage = figures.aggregate.levels[level_idx].coverage();
            coverage.is_some_and(|coverage| (coverage - nominal).abs() <= tolerance)
        })
    }

    /// Returns the fraction of series in which the aggregate has a smaller mean |ln error| than
    /// `method` alone; None without series.
    pub fn classes_better_than(&self, method: ForecastMethod) -> Option<f64> {
        self.fraction_of_classes(|figures| {
            let alone = figures.mean_abs_ln[method.index()];
            let together = figures.aggregate.score.mean_abs_ln;
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
/// given), starting with the state of `forecaster`. `period` maps an instant of submission to a
/// period, such as a month.
pub fn evaluate(
    forecaster: Forecaster,
    records: &[CompletedJob],
    trial: EvaluationConfig,
    period: impl Fn(Instant) -> i64,
    witness: &mut impl EvaluationObserver,
) -> ForecastEvaluation {
    let mut ran: Vec<&CompletedJob> = records
        .iter()
        .filter(|r| ln_secs(r.runtime).is_some())
        .collect();
    ran.sort_by_key(|record| record.submit);
    let mut jobs_of = BTreeMap::<ClassId, usize>::new();
    for record in &ran {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    let mut course = OnlineForecaster::new(forecaster, trial.timing);
    let mut rivals = MethodComparison::default();
    let mut tally = EvaluationTotals::default();
    for (nth, record) in (0..).zip(ran) {
        let mut ended = Vec::new();
        course.advance(record.submit, &mut |learned| ended.push(learned));
        for learned in &ended {
            rivals.learn(learned);
            witness.learned(learned);
        }
        let stated = course.forecaster().forecast(&record.job);
        let points = rivals.forecast(record, &stated);
        let series = jobs_of[&record.job.class] >= trial.min_jobs;
        tally.count(
            record,
            &stated,
            &points,
            rivals.errors.of_class(record.job.class),
            series,
            period(record.submit),
        );
        witness.forecast(nth, record, &stated);
        rivals.predictions.insert(nth, points);
        course.track(record, &stated, &mut |learned| {
            rivals.learn(&learned);
            witness.learned(&learned);
        });
    }
    course.finish(|learned| witness.learned(&learned));
    tally.evaluation()
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

#[derive(Default)]
struct EvaluationTotals {
    together: (PointErrors, PromiseTotals),
    alone: Vec<(PointErrors, PromiseTotals)>,
    classes: BTreeMap<ClassId, GroupTotals>,
    periods: BTreeMap<i64, GroupTotals>,
}

/// The sums over a class or a period.
#[derive(Default)]
struct GroupTotals {
    together: (PointErrors, PromiseTotals),
    alone: LogErrorSums<N_METHODS>,
}

impl EvaluationTotals {
    fn count(
        &mut self,
        record: &CompletedJob,
        stated: &Forecast,
        points: &[f64; N_METHODS],
        errors: &ErrorSpread,
        series: bool,
        period: i64,
    ) {
        let actual = record.runtime;
        let ln_run = ln_secs(actual).unwrap_or(0.0);
        let actual_secs = actual.as_secs_f64();
        let distribution = stated.distribution();
        let bounds = distribution.quantiles().map(Span::as_secs_f64);
        self.alone.resize_with(N_METHODS, Default::default);
        self.together.1.push(&bounds, actual_secs);
        for (method, (alone, point)) in ForecastMethod::all()
            .into_iter()
            .zip(self.alone.iter_mut().zip(points))
        {
            alone.1.push(&errors.bounds(method, *point), actual_secs);
            if series {
                alone.0.push(point.exp(), actual);
            }
        }
        let class = series.then(|| self.classes.entry(record.job.class).or_default());
        let parts = class
            .into_iter()
            .chain([self.periods.entry(period).or_default()]);
        for part in parts {
            part.together.0.push(stated.point().as_secs_f64(), actual);
            part.together.1.push(&bounds, actual_secs);
            part.alone.push(points, ln_run);
        }
        if series {
            self.together.0.push(stated.point().as_secs_f64(), actual);
        }
    }

    fn evaluation(self) -> ForecastEvaluation {
        let parts = |parts: GroupTotals| ForecastMetrics {
            aggregate: outcome(parts.together),
            mean_abs_ln: parts.alone.means(),
        };
        ForecastEvaluation {
            aggregate: outcome(self.together),
            methods: self.alone.into_iter().map(outcome).collect(),
            classes: self
                .classes
                .into_iter()
                .map(|(id, part)| (id, parts(part)))
                .collect(),
            periods: self
                .periods
                .into_iter()
                .map(|(id, part)| (id, parts(part)))
                .collect(),
        }
    }
}

fn outcome((errors, promises): (PointErrors, PromiseTotals)) -> MethodScore {
    MethodScore {
        score: errors.score(),
        levels: promises.levels(),
    }
}

/// The methods that the aggregate is compared with.
const COMPARED: [ForecastMethod; 3] = [
    ForecastMethod::Expert(Expert::Last),
    ForecastMethod::Baseline(BaselineMethod::Tsafrir),
    ForecastMethod::Baseline(BaselineMethod::Estimate),
];

/// Returns every method as readers look for them: first those that the aggregate is compared with.
pub fn methods_to_read() -> impl Iterator<Item = ForecastMethod> {
    let all = ForecastMethod::all().into_iter();
    let others = all.filter(|method| !COMPARED.contains(method));
    COMPARED.into_iter().chain(others)
}
