//! Bounds from the past errors of a source.

use std::collections::VecDeque;

use super::source::N_POINTS;

/// The levels at which bounds are judged.
pub const BOUND_LEVELS: [f64; N_BOUND_LEVELS] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
/// Number of levels at which bounds are judged.
pub const N_BOUND_LEVELS: usize = 7;
/// The index among the levels of a distribution of the first of them.
pub(super) const FIRST_LEVEL: usize = 5;
/// Number of past errors that count.
const MAX_ERRORS: usize = 100;
/// Minimum number of errors for bounds of their own.
const MIN_ERRORS: usize = 20;

/// The latest errors of each source on a set of jobs, as ln(run time / forecast).
#[derive(Clone, Debug)]
pub struct RecentErrors([ErrorWindow; N_POINTS]);

/// The latest errors of a source.
#[derive(Clone, Debug, Default)]
struct ErrorWindow {
    /// In the order of their arrival.
    arrived: VecDeque<f64>,
    /// In ascending order.
    sorted: Vec<f64>,
}

impl Default for RecentErrors {
    fn default() -> Self {
        Self(std::array::from_fn(|_| ErrorWindow::default()))
    }
}

impl RecentErrors {
    /// Learns the errors of the points at a run time; all are logarithms.
    pub fn learn(&mut self, points: &[f64; N_POINTS], ln_run: f64) {
        for (errors, point) in self.0.iter_mut().zip(points) {
            errors.learn(ln_run - point);
        }
    }

    /// Returns whether there are enough errors for bounds.
    pub fn is_known(&self) -> bool {
        self.0[0].sorted.len() >= MIN_ERRORS
    }

    /// Returns the margin of a source at each of [`BOUND_LEVELS`], as a logarithm: the quantile of its
    /// past errors, at least as high as the level asks for (conformal). No margin without errors.
    pub fn margins(&self, source: usize) -> [f64; N_BOUND_LEVELS] {
        let sorted = &self.0[source].sorted;
        BOUND_LEVELS.map(|level| {
            let place = (level * (sorted.len() + 1) as f64).ceil() as usize;
            let place = place.clamp(1, sorted.len().max(1)) - 1;
            sorted.get(place).copied().unwrap_or(0.0)
        })
    }
}

impl ErrorWindow {
    fn learn(&mut self, error: f64) {
        if self.arrived.len() == MAX_ERRORS
            && let Some(oldest) = self.arrived.pop_front()
        {
            self.sorted.remove(self.place(oldest));
        }
        self.arrived.push_back(error);
        self.sorted.insert(self.place(error), error);
    }

    /// Returns the place of the first error that is at least as large.
    fn place(&self, error: f64) -> usize {
        self.sorted
            .partition_point(|known| known.total_cmp(&error).is_lt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_quantiles_of_the_last_hundred_errors() {
        let mut errors = RecentErrors::default();
        assert_eq!(errors.margins(0), [0.0; N_BOUND_LEVELS]);
        for error in (500..900).chain(0..100) {
            errors.learn(&[0.0; N_POINTS], f64::from(error));
        }
        assert!(errors.is_known());
        let [half, .., highest] = errors.margins(3);
        assert_eq!((half, highest), (50.0, 99.0));
    }
}
