//! The measures by which forecasts are compared.

use tollgate_model::Span;

use crate::expert::median;

/// How far point forecasts were off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// How many jobs are counted.
    pub jobs: usize,
    /// The median of |actual - forecast| / actual, in percent; none without jobs.
    pub mdape_pct: Option<f64>,
    /// The mean of |ln (forecast / actual)|; none without jobs.
    pub mean_abs_ln: Option<f64>,
}

/// Errors on their way to a [`Score`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    relative: Vec<f64>,
    abs_ln: f64,
}

impl Errors {
    /// Takes in one job that ran for `actual`, positive.
    pub(crate) fn push(&mut self, forecast: Span, actual: Span) {
        let (forecast, actual) = (forecast.as_secs_f64(), actual.as_secs_f64());
        self.relative.push((actual - forecast).abs() / actual);
        self.abs_ln += (forecast / actual).ln().abs();
    }

    pub(crate) fn score(mut self) -> Score {
        let jobs = self.relative.len();
        Score {
            jobs,
            mdape_pct: median(&mut self.relative).map(|relative| 100.0 * relative),
            mean_abs_ln: (jobs > 0).then(|| self.abs_ln / jobs as f64),
        }
    }
}

/// How one level was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    jobs: usize,
    kept: usize,
    bound_secs: f64,
    actual_secs: f64,
}

impl Held {
    pub(crate) fn push(&mut self, bound: Span, actual: Span) {
        self.jobs += 1;
        self.kept += usize::from(actual <= bound);
        self.bound_secs += bound.as_secs_f64();
        self.actual_secs += actual.as_secs_f64();
    }

    /// The part of the jobs that ran at most as long as their bound; none without jobs.
    pub fn coverage(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.kept as f64 / self.jobs as f64)
    }

    /// The sum of the bounds over the sum of the run times; none without jobs.
    pub fn bound_ratio(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.bound_secs / self.actual_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_what_came() {
        let mut errors = Errors::default();
        for forecast in [100, 150, 200] {
            errors.push(Span::from_secs(forecast), Span::from_secs(100));
        }
        let score = errors.score();
        assert_eq!((score.jobs, score.mdape_pct), (3, Some(50.0)));
        let expected = 3f64.ln() / 3.0;
        assert!((score.mean_abs_ln.unwrap() - expected).abs() < 1e-12);
        assert_eq!(Errors::default().score().mdape_pct, None);
    }

    #[test]
    fn a_bound_that_is_met_exactly_is_kept() {
        let mut held = Held::default();
        held.push(Span::from_secs(10), Span::from_secs(10));
        held.push(Span::from_secs(10), Span::from_secs(30));
        assert_eq!(held.coverage(), Some(0.5));
        assert_eq!(held.bound_ratio(), Some(0.5));
        assert_eq!(Held::default().coverage(), None);
    }
}
