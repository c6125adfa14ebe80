//! Separate risk analysis: one objective in one scenario.

use crate::Score;

/// A point of a risk analysis plot: the performance of a policy and its variation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// Mean of the normalised results, 0 (worst) to 1 (best).
    pub performance: f64,
    /// Standard deviation of the normalised results, 0 (best) to 0.5.
    pub volatility: f64,
}

impl Risk {
    /// Returns the performance and volatility of one objective in one scenario, from the score at
    /// each value that the scenario takes (Yeo & Buyya 2008, eq. 5-6). None if `scores` is empty.
    ///
    /// Eq. 6 is the population standard deviation. It is computed from deviations, because the
    /// printed form is a difference of squares whose rounding errors could make it negative. The
    /// deviations are relative to the first score, so equal scores have a volatility of exactly 0.
    pub fn separate(scores: &[Score]) -> Option<Self> {
        let origin = scores.first()?.get();
        let count = scores.len() as f64;
        let offsets = scores.iter().map(|score| score.get() - origin);
        let mean = offsets.clone().sum::<f64>() / count;
        let variance = offsets.map(|offset| (offset - mean).powi(2)).sum::<f64>() / count;
        Some(Self {
            performance: (origin + mean).clamp(0.0, 1.0),
            volatility: variance.sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn separate(scores: &[f64]) -> Risk {
        let scores: Vec<_> = scores
            .iter()
            .map(|&score| Score::new(score).expect("a score"))
            .collect();
        Risk::separate(&scores).expect("a score")
    }

    #[test]
    fn a_worked_example() {
        let risk = separate(&[0.2, 0.4, 0.4, 0.4, 0.5, 0.5, 0.7, 0.9]);
        assert!((risk.performance - 0.5).abs() < 1e-15);
        assert!((risk.volatility - 0.2).abs() < 1e-15);
    }

    #[test]
    fn equal_scores_have_no_volatility_at_all() {
        let risk = separate(&[0.1; 7]);
        assert_eq!((risk.performance, risk.volatility), (0.1, 0.0));
    }

    #[test]
    fn empty_scores_have_no_risk() {
        assert_eq!(Risk::separate(&[]), None);
    }

    proptest! {
        #[test]
        fn equations_5_and_6_hold_as_printed(
            scores in proptest::collection::vec(0.0..=1.0f64, 1..30),
        ) {
            let n = scores.len() as f64;
            let mean = scores.iter().sum::<f64>() / n;
            let squares = scores.iter().map(|score| score * score).sum::<f64>() / n;
            let risk = separate(&scores);
            prop_assert!((risk.performance - mean).abs() < 1e-12);
            prop_assert!((risk.volatility.powi(2) - (squares - mean * mean)).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&risk.performance));
            prop_assert!((0.0..=0.5 + 1e-12).contains(&risk.volatility));
        }
    }
}
