//! The measures by which forecasts are compared.

use std::collections::BTreeMap;

use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{Instant, Probability, Span};

use crate::conformal::pinball;
use crate::expert::median;

/// The shortest time whose logarithm is told from that of shorter ones, in seconds.
const SHORTEST_SECS: f64 = 1.0;
/// A week.
const WEEK_MICROS: i64 = 7 * 86_400_000_000;
/// The standard deviations of a normal variable within which it is nineteen times in twenty.
const NINETEEN_IN_TWENTY: f64 = 1.96;

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
    pinball: [f64; N_LEVELS],
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
        let ln_run = actual_secs.max(SHORTEST_SECS).ln();
        for (level, (sum, bound)) in self.pinball.iter_mut().zip(bounds_secs).enumerate() {
            let ln_bound = bound.max(SHORTEST_SECS).ln();
            *sum += pinball(ln_bound, ln_run, LEVELS[level].as_f64());
        }
    }

    /// Returns the sums without those over some of the jobs.
    fn without(&self, some: &Self) -> Self {
        Self {
            jobs: self.jobs - some.jobs,
            actual_secs: self.actual_secs - some.actual_secs,
            kept: std::array::from_fn(|level| self.kept[level] - some.kept[level]),
            bound_secs: std::array::from_fn(|level| {
                self.bound_secs[level] - some.bound_secs[level]
            }),
            pinball: std::array::from_fn(|level| self.pinball[level] - some.pinball[level]),
        }
    }

    /// Adds the sums over other jobs.
    pub(crate) fn add(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.actual_secs += other.actual_secs;
        for level in 0..N_LEVELS {
            self.kept[level] += other.kept[level];
            self.bound_secs[level] += other.bound_secs[level];
            self.pinball[level] += other.pinball[level];
        }
    }

    pub(crate) fn levels(&self) -> [LevelCoverage; N_LEVELS] {
        std::array::from_fn(|level| LevelCoverage {
            jobs: self.jobs,
            kept: self.kept[level] as usize,
            bound_secs: self.bound_secs[level],
            actual_secs: self.actual_secs,
            pinball: self.pinball[level],
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
    pinball: f64,
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

impl LevelCoverage {
    /// Returns the mean pinball loss of the bounds, of logarithms of seconds where times below a second count as a
    /// second; None without jobs.
    pub fn pinball(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.pinball / self.jobs as f64)
    }
}

impl MethodScore {
    /// Returns the continuous ranked probability score of the logarithms of seconds (Gneiting & Raftery 2007); None
    /// without jobs. It is twice the integral of the pinball loss over the level, by the trapezoid rule. The loss is
    /// zero at the levels 0 and 1.
    pub fn crps(&self) -> Option<f64> {
        let mut sum = 0.0;
        let mut from = (0.0, 0.0);
        for (level, score) in LEVELS.iter().zip(&self.levels) {
            let to = (level.as_f64(), score.pinball()?);
            sum += (to.0 - from.0) * (to.1 + from.1);
            from = to;
        }
        Some(sum + (1.0 - from.0) * from.1)
    }
}

/// The accumulated squared errors of probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BrierScore {
    jobs: usize,
    squares: f64,
}

impl BrierScore {
    /// Adds the probability of an outcome, and whether it came true.
    pub(crate) fn push(&mut self, probability: Probability, is_true: bool) {
        self.jobs += 1;
        self.squares += (probability.as_f64() - f64::from(u8::from(is_true))).powi(2);
    }

    /// Returns the number of probabilities.
    pub const fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns the mean squared error, from 0 to 1; None without jobs.
    pub fn mean(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.squares / self.jobs as f64)
    }
}

/// An interval that holds a mean nineteen times in twenty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The accumulated coverage by block of time. Jobs of one week are alike, so that weeks and not jobs are drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeeklyTotals(BTreeMap<i64, PromiseTotals>);

impl WeeklyTotals {
    /// Adds a job that was submitted at an instant.
    pub(crate) fn push(
        &mut self,
        submit: Instant,
        bounds_secs: &[f64; N_LEVELS],
        actual_secs: f64,
    ) {
        let week = submit.as_micros().div_euclid(WEEK_MICROS);
        let totals = self.0.entry(week).or_default();
        totals.push(bounds_secs, actual_secs);
    }

    /// Returns the interval of a mean by level, by the jackknife over weeks (Efron & Stein 1981); None with fewer than
    /// three weeks.
    pub(crate) fn intervals(
        &self,
        mean: impl Fn(&LevelCoverage) -> Option<f64>,
    ) -> Option<[ScoreInterval; N_LEVELS]> {
        let n_weeks = self.0.len() as f64;
        if n_weeks < 3.0 {
            return None;
        }
        let mut intervals = [ScoreInterval {
            low: 0.0,
            high: 0.0,
        }; N_LEVELS];
        let mut all = PromiseTotals::default();
        self.0.values().for_each(|week| all.add(week));
        for (level, interval) in intervals.iter_mut().enumerate() {
            let middle = mean(&all.levels()[level])?;
            let without = self
                .0
                .values()
                .map(|week| mean(&all.without(week).levels()[level]));
            let without: Vec<f64> = without.collect::<Option<_>>()?;
            let centre = without.iter().sum::<f64>() / n_weeks;
            let squares: f64 = without.iter().map(|one| (one - centre).powi(2)).sum();
            let half = NINETEEN_IN_TWENTY * ((n_weeks - 1.0) / n_weeks * squares).sqrt();
            *interval = ScoreInterval {
                low: middle - half,
                high: middle + half,
            };
        }
        Some(intervals)
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

    #[test]
    fn pinball_is_of_logarithms_of_at_least_a_second() {
        let mut totals = PromiseTotals::default();
        totals.push(&[1.0_f64.exp(); N_LEVELS], 2.0_f64.exp());
        totals.push(&[1.0_f64.exp(); N_LEVELS], 0.01);
        for (level, held) in LEVELS.iter().zip(totals.levels()) {
            // One unit above costs the level, one below costs the rest.
            let expected = (level.as_f64() + 1.0 - level.as_f64()) / 2.0;
            assert!((held.pinball().unwrap() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn crps_of_a_sure_forecast_is_its_absolute_error() {
        let mut totals = PromiseTotals::default();
        totals.push(&[1.0; N_LEVELS], 1.0_f64.exp());
        let score = MethodScore {
            score: PointErrors::default().score(),
            levels: totals.levels(),
        };
        // The integral of 2 x level is 1; the trapezoid rule ends at the level 1 with a loss of zero.
        assert!((score.crps().unwrap() - 1.0).abs() < 0.02, "{score:?}");
    }

    #[test]
    fn weeks_that_differ_widen_the_interval() {
        let width = |kept_of_week: &dyn Fn(i64) -> i64| {
            let mut weeks = WeeklyTotals::default();
            for job in 0..800 {
                let week = job / 100;
                let runs_s = if job % 100 < kept_of_week(week) {
                    1.0
                } else {
                    9.0
                };
                let submit = Instant::from_micros(week * WEEK_MICROS);
                weeks.push(submit, &[2.0; N_LEVELS], runs_s);
            }
            let [first, ..] = weeks.intervals(LevelCoverage::coverage).unwrap();
            assert!(first.low <= 0.5 && 0.5 <= first.high, "{first:?}");
            first.high - first.low
        };
        assert!(width(&|_| 50) < 1e-9);
        assert!(width(&|week| if week % 2 == 0 { 90 } else { 10 }) > 0.3);
        assert!(
            WeeklyTotals::default()
                .intervals(LevelCoverage::coverage)
                .is_none()
        );
    }
}
