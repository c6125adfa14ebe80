//! Forecasts and both methods over a record.

use std::collections::BTreeMap;

use tollgate_forecast::{
    Belief, BeliefModel, ClassId, CompletedJob, EvaluationConfig, EvaluationObserver,
    FeedbackTiming, Forecast, Forecaster, JobFeedback, evaluate,
};
use tollgate_model::Span;

use crate::searched_models::SearchedModels;

/// The comparison of the forecasts with AutoETS and AutoARIMA over a record.
#[derive(Debug)]
pub struct SearchComparison {
    /// Number of series: classes with at least the minimum number of jobs.
    pub series: usize,
    /// Number of their jobs.
    pub jobs: usize,
    /// The forecasts of classes.
    pub together: SearchedMethod,
    /// AutoETS and AutoARIMA.
    pub searched: [SearchedMethod; 2],
}

/// The errors of a method over all series.
#[derive(Clone, Copy, Debug)]
pub struct SearchedMethod {
    /// The median of |actual - forecast| / actual, in percent.
    pub mdape_pct: f64,
    /// The mean of |ln (forecast / actual)|.
    pub mean_abs_ln: f64,
    /// The fraction of series in which the forecasts of tollgate have the smaller mean |ln error|.
    pub classes_worse: f64,
}

impl SearchComparison {
    /// Forecasts every job of `records` from the jobs before it, by feedback that comes with `timing`. Classes with fewer
    /// than `min_jobs` jobs are learned and not counted. None without such a class.
    pub fn over(records: &[CompletedJob], timing: FeedbackTiming, min_jobs: usize) -> Option<Self> {
        let config = EvaluationConfig { timing, min_jobs };
        let mut errors = MethodErrors::default();
        let (forecaster, beliefs) = (Forecaster::default(), BeliefModel::default());
        evaluate(forecaster, beliefs, records, config, |_| 0, &mut errors);
        let series = errors.classes.into_values();
        let series: Vec<Vec<[f64; 3]>> = series.filter(|jobs| jobs.len() >= min_jobs).collect();
        if series.is_empty() {
            return None;
        }
        let method = |place| SearchedMethod::of(&series, place);
        Some(Self {
            series: series.len(),
            jobs: series.iter().map(Vec::len).sum(),
            together: method(0),
            searched: [method(1), method(2)],
        })
    }
}

impl SearchedMethod {
    /// Computes the errors of the method at this place.
    fn of(series: &[Vec<[f64; 3]>], place: usize) -> Self {
        let errors = series.iter().flatten().map(|job| job[place]);
        let mut relative: Vec<f64> = errors.clone().map(|ln| (1.0 - ln.exp()).abs()).collect();
        let n_jobs = relative.len() as f64;
        let sum = |jobs: &[[f64; 3]], place: usize| -> f64 {
            jobs.iter().map(|job| job[place].abs()).sum()
        };
        let worse = series.iter().filter(|jobs| sum(jobs, 0) < sum(jobs, place));
        Self {
            mdape_pct: 100.0 * median(&mut relative),
            mean_abs_ln: errors.map(f64::abs).sum::<f64>() / n_jobs,
            classes_worse: worse.count() as f64 / series.len() as f64,
        }
    }
}

/// The errors ln (forecast / actual) of the forecasts, of AutoETS and of AutoARIMA, by class and job.
#[derive(Default)]
struct MethodErrors {
    models: SearchedModels,
    classes: BTreeMap<ClassId, Vec<[f64; 3]>>,
}

impl EvaluationObserver for MethodErrors {
    fn forecast(
        &mut self,
        _nth: u64,
        record: &CompletedJob,
        _belief: &Belief,
        forecast: &Forecast,
    ) {
        let class = record.job.class;
        let ln_run = ln_secs(record.runtime);
        let together = ln_secs(forecast.point());
        let [ets, arima] = self
            .models
            .forecast(class)
            .map(|alone| alone.unwrap_or(together));
        let errors = [together, ets, arima].map(|point| point - ln_run);
        self.classes.entry(class).or_default().push(errors);
    }

    fn learned(&mut self, learned: &JobFeedback) {
        let record = &learned.record;
        self.models.learn(record.job.class, ln_secs(record.runtime));
    }
}

fn ln_secs(span: Span) -> f64 {
    span.as_secs_f64().ln()
}

/// Returns the median; the mean of the two in the middle of an even number. NaN without values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}
