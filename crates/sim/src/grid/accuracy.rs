//! The errors and bounds of a source.

use std::collections::BTreeMap;

use tollgate_forecast::{ClassId, ClassStage, Expert};

use super::evaluation::{EvaluatedJob, GridEvaluation};
use super::margin::BOUND_LEVELS;
use super::source::{ForecastSource, N_POINTS};

/// Minimum number of scored jobs for a class to be judged by itself.
const MIN_CLASS_JOBS: usize = 100;
/// Maximum distance between a level and its coverage in a class, in points.
const TOLERANCE_POINTS: f64 = 4.0;
/// A source is near the best single expert of a class if its mean error is at most this times as
/// large.
const NEAR: f64 = 1.1;
/// The mean error above which the jobs of a class are unpredictable: a factor of three.
const UNPREDICTABLE: f64 = 3.0;
/// The greatest relative error that the paper reports for usual times.
const USUAL_ERROR: f64 = 0.75;

/// The errors and bounds of a source over the scored jobs of a record. None where a value is
/// undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceAccuracy {
    /// Scored jobs.
    pub jobs: usize,
    /// Classes with scored jobs.
    pub classes: usize,
    /// Median of |run time - forecast| / run time.
    pub median_error: Option<f64>,
    /// Mean of |ln(forecast / run time)|.
    pub mean_ln_error: Option<f64>,
    /// Mean of (run time - forecast) / run time.
    pub mean_signed_error: Option<f64>,
    /// Sum of forecasts / sum of run times - 1.
    pub total_error: Option<f64>,
    /// Mean of ln(forecast / run time).
    pub ln_bias: Option<f64>,
    /// Standard deviation of ln(forecast / run time).
    pub ln_spread: Option<f64>,
    /// Share of jobs with a relative error of at most 75 %.
    pub within_75: Option<f64>,
    /// Mean step between consecutive forecasts of a class over that between its run times.
    pub roughness: Option<f64>,
    /// Share of jobs within their bound.
    pub kept: Option<f64>,
    /// Sum of bounds / sum of run times.
    pub bound_ratio: Option<f64>,
    /// Share of the large classes whose coverage is within 4 points of the level.
    pub classes_kept: Option<f64>,
    /// Bound over forecast while the mode of the class may be changing, as a geometric mean.
    pub margin_changing: Option<f64>,
    /// The same while it is not changing.
    pub margin_settled: Option<f64>,
    /// Share of the large classes in which the mean error is at most 1.1 times that of their best
    /// single expert.
    pub classes_near_best: Option<f64>,
    /// Share of the large classes in which the source has the smallest mean error of all single
    /// experts.
    pub classes_best: Option<f64>,
    /// Share of jobs in classes in which half of the forecasts are wrong by a factor of three.
    pub unpredictable: Option<f64>,
}

/// The forecasts of one source of the jobs of a record.
struct SourceForecasts<'a> {
    classes: BTreeMap<ClassId, Vec<&'a EvaluatedJob>>,
    /// The index of the source in each class.
    index: BTreeMap<ClassId, usize>,
    /// The single expert with the smallest mean error in each class.
    best: BTreeMap<ClassId, usize>,
}

impl SourceAccuracy {
    /// Computes the accuracy of a source; bounds are those at the level of this index.
    pub fn of(evaluation: &GridEvaluation, source: ForecastSource, level: usize) -> Self {
        let forecasts = SourceForecasts::of(evaluation, source);
        let jobs: Vec<(&EvaluatedJob, usize)> = forecasts.jobs().collect();
        let mean = |value: &dyn Fn(f64, f64) -> f64| {
            mean(
                jobs.iter()
                    .map(|(job, index)| value(job.points[*index], job.ln_run)),
            )
        };
        let ln_bias = mean(&|point, run| point - run);
        let square = mean(&|point, run| (point - run) * (point - run));
        let mut relative: Vec<f64> = jobs
            .iter()
            .map(|(job, index)| relative_error(job.points[*index], job.ln_run))
            .collect();
        let within = relative.iter().filter(|error| **error <= USUAL_ERROR);
        let within_75 = share(within.count(), relative.len());
        let index = source.index();
        let runs: f64 = jobs.iter().map(|(job, _)| job.ln_run.exp()).sum();
        let is_joint = matches!(source, ForecastSource::Joint(_));
        let margin = |stage| is_joint.then(|| margin(&jobs, level, stage)).flatten();
        Self {
            jobs: jobs.len(),
            classes: forecasts.classes.len(),
            median_error: median(&mut relative),
            mean_ln_error: mean(&|point, run| (point - run).abs()),
            mean_signed_error: mean(&|point, run| 1.0 - (point - run).exp()),
            total_error: (runs > 0.0).then(|| {
                let forecasts = jobs.iter().map(|(job, index)| job.points[*index].exp());
                forecasts.sum::<f64>() / runs - 1.0
            }),
            ln_bias,
            ln_spread: ln_bias
                .zip(square)
                .map(|(bias, square)| (square - bias * bias).max(0.0).sqrt()),
            within_75,
            roughness: forecasts.roughness(),
            kept: index.and_then(|_| coverage(&jobs, level)),
            bound_ratio: index
                .filter(|_| runs > 0.0)
                .map(|index| evaluation.bound_secs[index][level] / runs),
            classes_kept: index.and_then(|_| forecasts.classes_kept(level)),
            margin_changing: margin(ClassStage::Changing),
            margin_settled: margin(ClassStage::Settled),
            classes_near_best: forecasts.classes_near_best(),
            classes_best: forecasts.classes_best(source),
            unpredictable: forecasts.unpredictable(jobs.len()),
        }
    }
}

impl<'a> SourceForecasts<'a> {
    fn of(evaluation: &'a GridEvaluation, source: ForecastSource) -> Self {
        let classes = evaluation.scored_by_class();
        let best: BTreeMap<ClassId, usize> = classes
            .iter()
            .map(|(class, jobs)| (*class, best_single(jobs)))
            .collect();
        let index = match source.index() {
            None => best.clone(),
            Some(index) => classes.keys().map(|class| (*class, index)).collect(),
        };
        Self {
            classes,
            index,
            best,
        }
    }

    fn jobs(&self) -> impl Iterator<Item = (&'a EvaluatedJob, usize)> {
        let classes = self.classes.iter().zip(self.index.values());
        classes.flat_map(|((_, jobs), index)| jobs.iter().map(|job| (*job, *index)))
    }

    /// Returns the classes with enough jobs, with the index of the source and of the best expert.
    fn large(&self) -> impl Iterator<Item = (&[&'a EvaluatedJob], usize, usize)> {
        let classes = self.classes.iter();
        let large = classes.filter(|(_, jobs)| jobs.len() >= MIN_CLASS_JOBS);
        large.map(|(class, jobs)| (&jobs[..], self.index[class], self.best[class]))
    }

    fn roughness(&self) -> Option<f64> {
        let (mut forecast, mut actual) = (0.0, 0.0);
        for (class, jobs) in &self.classes {
            let index = self.index[class];
            for pair in jobs.windows(2) {
                forecast += (pair[1].points[index] - pair[0].points[index]).abs();
                actual += (pair[1].ln_run - pair[0].ln_run).abs();
            }
        }
        (actual > 0.0).then(|| forecast / actual)
    }

    fn classes_kept(&self, level: usize) -> Option<f64> {
        let nominal = BOUND_LEVELS[level];
        self.share_of_large(|jobs, index, _| {
            let jobs: Vec<_> = jobs.iter().map(|job| (*job, index)).collect();
            let coverage = coverage(&jobs, level).unwrap_or(0.0);
            100.0 * (coverage - nominal).abs() <= TOLERANCE_POINTS
        })
    }

    fn classes_near_best(&self) -> Option<f64> {
        self.share_of_large(|jobs, index, best| {
            class_error(jobs, index) <= NEAR * class_error(jobs, best)
        })
    }

    fn classes_best(&self, source: ForecastSource) -> Option<f64> {
        match source {
            ForecastSource::Single(expert) => {
                self.share_of_large(|_, _, best| best == expert as usize)
            }
            ForecastSource::Joint(_)
            | ForecastSource::Cubic
            | ForecastSource::Arma
            | ForecastSource::ArmaSeconds
            | ForecastSource::Request
            | ForecastSource::BestSingle => None,
        }
    }

    fn share_of_large(
        &self,
        holds: impl Fn(&[&'a EvaluatedJob], usize, usize) -> bool,
    ) -> Option<f64> {
        let holding = self
            .large()
            .filter(|(jobs, index, best)| holds(jobs, *index, *best));
        share(holding.count(), self.large().count())
    }

    fn unpredictable(&self, all: usize) -> Option<f64> {
        let jobs = self.classes.iter().map(|(class, jobs)| {
            let index = self.index[class];
            let errors = jobs
                .iter()
                .map(|job| (job.points[index] - job.ln_run).abs());
            let median = median(&mut errors.collect::<Vec<_>>()).unwrap_or(0.0);
            if median > UNPREDICTABLE.ln() {
                jobs.len()
            } else {
                0
            }
        });
        share(jobs.sum(), all)
    }
}

/// Returns the expert with the smallest mean error; ties go to the first.
fn best_single(jobs: &[&EvaluatedJob]) -> usize {
    let errors: [f64; N_POINTS] = std::array::from_fn(|index| class_error(jobs, index));
    let experts = 0..Expert::ALL.len();
    experts.fold(0, |best, next| match errors[next] < errors[best] {
        true => next,
        false => best,
    })
}

fn class_error(jobs: &[&EvaluatedJob], index: usize) -> f64 {
    let errors = jobs
        .iter()
        .map(|job| (job.points[index] - job.ln_run).abs());
    mean(errors).unwrap_or(0.0)
}

/// Returns |run time - forecast| / run time of logarithms.
pub(super) fn relative_error(point: f64, ln_run: f64) -> f64 {
    (1.0 - (point - ln_run).exp()).abs()
}

/// Returns the share of jobs within their bounds.
pub(super) fn coverage(jobs: &[(&EvaluatedJob, usize)], level: usize) -> Option<f64> {
    let is_kept = |(job, index): &&(&EvaluatedJob, usize)| job.kept[*index] >> level & 1 == 1;
    share(jobs.iter().filter(is_kept).count(), jobs.len())
}

fn margin(jobs: &[(&EvaluatedJob, usize)], level: usize, stage: ClassStage) -> Option<f64> {
    let counted = jobs.iter().filter(|(job, _)| job.stage == stage);
    let margins = counted.map(|(job, index)| job.joint_bounds[level] - job.points[*index]);
    mean(margins).map(f64::exp)
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0u64);
    for value in values {
        sum += value;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}

pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    let middle = values.get(n / 2).copied()?;
    Some(match n % 2 {
        0 => (values[n / 2 - 1] + middle) / 2.0,
        _ => middle,
    })
}

pub(super) fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
