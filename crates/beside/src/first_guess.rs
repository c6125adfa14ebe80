//! Wider bounds where little is known.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{SpanBounds, WAIT_LEVELS, WaitBasis};
use tollgate_model::Span;

/// Number of waits that are kept.
const KEPT: usize = 300;
/// The confidence of a bound.
const CONFIDENCE: f64 = 0.95;

/// The last waits, from which bounds with a confidence are taken.
///
/// Few waits are a poor sample of the waits to come, all the more if they are those of one user. So a first guess is not
/// the quantile of these waits. It is a bound that is above the true quantile with 95 % confidence, for waits that are
/// alike. Brevik, Nurmi & Wolski, *Predicting bounds on queuing delay for batch-scheduled parallel machines*, PPoPP 2006. A
/// departure: the ages of the jobs that wait count as waits, because the first waits that end are the short ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastWaits {
    waits: VecDeque<Span>,
}

impl LastWaits {
    pub(crate) fn learn(&mut self, wait: Span) {
        if self.waits.len() == KEPT {
            self.waits.pop_front();
        }
        self.waits.push_back(wait);
    }

    /// Raises upper bounds of a first guess, and lowers lower ones. Bounds of a forest stay: its offsets have learned from
    /// the same jobs.
    pub(crate) fn widen(&self, bounds: &mut SpanBounds, ages: &[Span]) {
        if bounds.basis == WaitBasis::Forest || self.waits.is_empty() {
            return;
        }
        let mut sorted: Vec<Span> = self.waits.iter().chain(ages).copied().collect();
        sorted.sort_unstable();
        for (bound, level) in bounds.bounds.iter_mut().zip(WAIT_LEVELS) {
            if level >= 0.5 {
                let place = upper_place(sorted.len(), level).min(sorted.len());
                *bound = (*bound).max(sorted[place - 1]);
            } else {
                // A lower bound of the waits is an upper bound of their negatives.
                let place = upper_place(sorted.len(), 1.0 - level).min(sorted.len());
                *bound = (*bound).min(sorted[sorted.len() - place]);
            }
        }
    }
}

/// Returns the place, from 1, of the smallest of `n` sorted values that is above the quantile at `level` with the
/// confidence. That is the binomial probability of fewer than that many values below the quantile. It is n + 1 if no value is.
fn upper_place(n: usize, level: f64) -> usize {
    let mut probability = (1.0 - level).powi(n as i32);
    let mut cumulative = 0.0;
    for below in 0..n {
        cumulative += probability;
        if cumulative >= CONFIDENCE {
            return below + 1;
        }
        probability *= (n - below) as f64 / (below + 1) as f64 * level / (1.0 - level);
    }
    n + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_nine_waits_bound_the_quantile_at_95_percent() {
        assert_eq!(upper_place(59, 0.95), 59);
        assert_eq!(upper_place(58, 0.95), 59);
        // At most 36 of 59 lie below the median with a probability of 96.6 %, at most 35 with one of 94.1 %.
        assert_eq!(upper_place(59, 0.5), 37);
    }

    #[test]
    fn guess_is_widened_and_bounds_of_a_forest_stay() {
        let mut own = LastWaits::default();
        (1..=59).for_each(|n| own.learn(Span::from_secs(n)));
        let bounds = |basis| SpanBounds {
            bounds: [3, 6, 30, 53, 56].map(Span::from_secs),
            basis,
        };
        let mut guess = bounds(WaitBasis::Site);
        own.widen(&mut guess, &[]);
        assert_eq!(guess.bounds[4], Span::from_secs(59));
        assert_eq!(guess.bounds[2], Span::from_secs(37));
        assert_eq!(guess.bounds[0], Span::from_secs(1));
        let mut late = bounds(WaitBasis::Site);
        own.widen(&mut late, &[500, 600].map(Span::from_secs));
        assert_eq!(late.bounds[4], Span::from_secs(600));
        let mut forest = bounds(WaitBasis::Forest);
        own.widen(&mut forest, &[]);
        assert_eq!(forest, bounds(WaitBasis::Forest));
    }
}
