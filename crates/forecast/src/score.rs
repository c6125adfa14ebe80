//! The measures by which forecasts are compared.

use tollgate_model::Span;
use tollgate_model::distribution::N_LEVELS;

use crate::expert::median;

/// The errors of point forecasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointScore {
    /// Number of jobs counted.
    pub jobs: usize,
    /// The median of |actual - forecast| / actual, in percent; None without jobs.
    pub mdape_pct: Option<f64>,
    /// The mean of |ln (forecast / actual)|; None without jobs.
    pub mean_abs_ln: Option<f64>,
}

/// The score of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodScore {
    /// The score of its point forecasts.
    pub score: PointScore,
    /// The coverage of its promises at each level of a distribution.
    pub levels: [LevelCoverage; N_LEVELS],
}

/// The accumulated errors for a [`PointScore`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PointErrors {
    /// Relative errors. Seven digits are enough for a median, and there is one value per job and
    /// method.
    relative: Vec<f32>,
    abs_ln: f64,
}

impl PointErrors {
    /// Adds one job that ran for `actual`, positive, with its forecast in seconds.
    pub(crate) fn push(&mut self, forecast_secs: f64, actual: Span) {
        let actual = actual.as_secs_f64();
        let relative = (actual - forecast_secs).abs() / actual;
        self.relative.push(relative as f32);
        self.abs_ln += (forecast_secs / actual).ln().abs();
    }

    pub(crate) fn score(self) -> PointScore {
        let jobs = self.relative.len();
        let mut relative: Vec<f64> = self.relative.into_iter().map(f64::from).collect();
        PointScore {
            jobs,
            mdape_pct: median(&mut relative).map(|relative| 100.0 * relative),
            mean_abs_ln: (jobs > 0).then(|| self.abs_ln / jobs as f64),
        }
    }
}

/// The accumulated |ln errors| of several methods.
#[derive(Clone, Debug)]
pub(crate) struct LogErrorSums<const N: usize> {
    jobs: usize,
    abs_ln: [f64; N],
}

impl<const N: usize> Default for LogErrorSums<N> {
    fn default() -> Self {
        Self {
            jobs: 0,
            abs_ln: [0.0; N],
        }
    }
}

impl<const N: usize> LogErrorSums<N> {
    /// Adds each method's forecast of a job; all are logarithms of seconds.
    pub(crate) fn push(&mut self, points: &[f64; N], ln_run: f64) {
        self.jobs += 1;
        for (sum, point) in self.abs_ln.iter_mut().zip(points) {
            *sum += (point - ln_run).abs();
        }
    }

    /// Returns the means; zero without jobs.
    pub(crate) fn means(&self) -> [f64; N] {
        self.abs_ln.map(|sum| sum / self.jobs.max(1) as f64)
    }
}

/// The accumulated coverage of promises about the same jobs at every level of a distribution.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromiseTotals {
    jobs: usize,
    actual_secs: f64,
    kept: [u64; N_LEVELS],
    bound_secs: [f64; N_LEVELS],
}

impl PromiseTotals {
    /// Adds a job with its bounds; all are whole microseconds, in seconds.
    pub(crate) fn push(&mut self, bounds_secs: &[f64; N_LEVELS], actual_secs: f64) {
        self.jobs += 1;
        self.actual_secs += actual_secs;
        for (sum, bound) in self.bound_secs.iter_mut().zip(bounds_secs) {
            *sum += bound;
        }
        for (kept, bound) in self.kept.iter_mut().zip(bounds_secs) {
            *kept += u64::from(actual_secs <= *bound);
        }
    }

    pub(crate) fn levels(&self) -> [LevelCoverage; N_LEVELS] {
        std::array::from_fn(|level| LevelCoverage {
            jobs: self.jobs,
            kept: self.kept[level] as usize,
            bound_secs: self.bound_secs[level],
            actual_secs: self.actual_secs,
        })
    }
}

/// The coverage of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelCoverage {
    jobs: usize,
    kept: usize,
    bound_secs: f64,
    actual_secs: f64,
}

impl LevelCoverage {
    /// Returns the number of jobs with a promise.
    pub const fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns the fraction of jobs that ran at most as long as their bound; None without jobs.
    pub fn coverage(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.kept as f64 / self.jobs as f64)
    }

    /// Returns the sum of the bounds over the sum of the run times; None without jobs.
    pub fn bound_ratio(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.bound_secs / self.actual_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_actual_runtime() {
        let mut errors = PointErrors::default();
        for forecast in [100.0, 150.0, 200.0] {
            errors.push(forecast, Span::from_secs(100));
        }
        let score = errors.score();
        assert_eq!((score.jobs, score.mdape_pct), (3, Some(50.0)));
        let expected = 3f64.ln() / 3.0;
        assert!((score.mean_abs_ln.unwrap() - expected).abs() < 1e-12);
        assert_eq!(PointErrors::default().score().mdape_pct, None);
    }

    #[test]
    fn bound_met_exactly_is_kept() {
        let mut held = PromiseTotals::default();
        held.push(&[10.0; N_LEVELS], 10.0);
        held.push(&[10.0; N_LEVELS], 30.0);
        for held in held.levels() {
            assert_eq!(held.jobs(), 2);
            assert_eq!(held.coverage(), Some(0.5));
            assert_eq!(held.bound_ratio(), Some(0.5));
        }
        assert_eq!(LevelCoverage::default().coverage(), None);
    }
}
