//! The compared methods: each expert alone, and the baselines.

use std::collections::BTreeMap;

use tollgate_model::distribution::N_LEVELS;

use crate::baseline::{BaselineMethod, N_BASELINES};
use crate::expert::{Expert, N_EXPERTS};
use crate::record::{ClassId, secs_of};

/// Number of methods.
pub const N_METHODS: usize = N_EXPERTS + N_BASELINES;

/// A method that forecasts alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForecastMethod {
    /// An expert of this crate.
    Expert(Expert),
    /// An established method.
    Baseline(BaselineMethod),
}

impl ForecastMethod {
    /// Every method, in the order in which outputs list them.
    pub fn all() -> [Self; N_METHODS] {
        std::array::from_fn(|place| match place.checked_sub(N_EXPERTS) {
            None => Self::Expert(Expert::ALL[place]),
            Some(baseline) => Self::Baseline(BaselineMethod::ALL[baseline]),
        })
    }

    /// Returns the method's index in [`Self::all`].
    pub const fn index(self) -> usize {
        match self {
            Self::Expert(expert) => expert as usize,
            Self::Baseline(baseline) => N_EXPERTS + baseline as usize,
        }
    }

    /// Returns the method's key in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Expert(expert) => expert.key(),
            Self::Baseline(baseline) => baseline.key(),
        }
    }
}

/// The standard normal quantiles at the levels of a distribution.
const NORMAL: [f64; N_LEVELS] = [
    -1.644_853_627,
    -1.281_551_566,
    -0.841_621_234,
    -0.524_400_513,
    -0.253_347_103,
    0.0,
    0.253_347_103,
    0.524_400_513,
    0.841_621_234,
    1.281_551_566,
    1.644_853_627,
    2.326_347_874,
];
/// The speed at which old errors are forgotten: about the last hundred count.
const FORGET: f64 = 0.01;
/// Minimum number of errors of a class for estimating their size.
const MIN_ERRORS: u32 = 10;

/// The size of the errors of each method in ln time.
#[derive(Clone, Debug, Default)]
pub(crate) struct NormalErrors {
    site: ErrorSpread,
    classes: BTreeMap<ClassId, ErrorSpread>,
}

/// A running mean and mean square, weighted towards recent errors.
#[derive(Clone, Debug)]
pub(crate) struct ErrorSpread {
    jobs: u32,
    means: [f64; N_METHODS],
    squares: [f64; N_METHODS],
}

impl Default for ErrorSpread {
    fn default() -> Self {
        Self {
            jobs: 0,
            means: [0.0; N_METHODS],
            squares: [0.0; N_METHODS],
        }
    }
}

impl NormalErrors {
    /// Returns the size of the errors in `class`, or of all if the class has too few.
    pub(crate) fn of_class(&self, class: ClassId) -> &ErrorSpread {
        let own = self.classes.get(&class);
        own.filter(|own| own.jobs >= MIN_ERRORS)
            .unwrap_or(&self.site)
    }

    /// Learns the error of each method.
    pub(crate) fn learn(&mut self, class: ClassId, points: &[f64; N_METHODS], ln_run: f64) {
        for spread in [&mut self.site, self.classes.entry(class).or_default()] {
            spread.learn(points, ln_run);
        }
    }
}

impl ErrorSpread {
    /// Returns the bound of `method` at each level, in seconds, for a job with the point forecast
    /// `point`, a logarithm of seconds.
    pub(crate) fn bounds(&self, method: ForecastMethod, point: f64) -> [f64; N_LEVELS] {
        if method == ForecastMethod::Baseline(BaselineMethod::Estimate) {
            let [bound] = secs_of([point]);
            return [bound; N_LEVELS];
        }
        let (mean, deviation) = self.of(method.index());
        secs_of(NORMAL.map(|z| point + mean + z * deviation))
    }

    fn of(&self, place: usize) -> (f64, f64) {
        let variance = self.squares[place] - self.means[place] * self.means[place];
        (self.means[place], variance.max(0.0).sqrt())
    }

    fn learn(&mut self, points: &[f64; N_METHODS], ln_run: f64) {
        self.jobs = self.jobs.saturating_add(1);
        let part = FORGET.max(1.0 / f64::from(self.jobs));
        for (place, point) in points.iter().enumerate() {
            let error = ln_run - point;
            self.means[place] += part * (error - self.means[place]);
            self.squares[place] += part * (error * error - self.squares[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_index_matches_its_position() {
        for (place, method) in ForecastMethod::all().into_iter().enumerate() {
            assert_eq!(method.index(), place);
        }
        let mut keys = ForecastMethod::all().map(ForecastMethod::key).to_vec();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), N_METHODS);
    }

    #[test]
    fn errors_of_a_class_give_its_bounds_once_there_are_ten() {
        let mut errors = NormalErrors::default();
        let last = ForecastMethod::Expert(Expert::Last);
        for job in 0..10 {
            let ln_run = if job % 2 == 0 { 5.0 } else { 7.0 };
            errors.learn(ClassId(1), &[6.0; N_METHODS], ln_run);
        }
        // Mean zero, deviation one.
        let bounds = errors.of_class(ClassId(1)).bounds(last, 6.0);
        let ln_bound = bounds[10].ln();
        assert!((ln_bound - 7.644_853_627).abs() < 1e-6, "{ln_bound}");
        assert_eq!(errors.of_class(ClassId(2)).bounds(last, 6.0), bounds);
        let estimate = ForecastMethod::Baseline(BaselineMethod::Estimate);
        let promised = errors.of_class(ClassId(1)).bounds(estimate, 6.0);
        assert_eq!(promised, [secs_of([6.0])[0]; N_LEVELS]);
    }
}
