//! The aggregation of many forecasts into one: experts have votes, and feedback moves the votes.

use serde::{Deserialize, Serialize};

use crate::expert::N_EXPERTS;

/// The forecast of each expert, as a logarithm of seconds; None if the expert has none.
pub(crate) type ExpertForecasts = [Option<f64>; N_EXPERTS];

/// The speed at which votes follow losses.
const RATE: f64 = 2.0;
/// Maximum loss, as a logarithm of the error: one anomaly must not decide.
const MAX_LOSS: f64 = 2.0;
/// The fraction of all votes that is redistributed equally after each job (Herbster & Warmuth 1998). So a
/// method that was bad in the last mode can lead in the next.
const SHARED: f64 = 0.05;

/// The votes of the experts of a class; they sum to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExpertWeights([f64; N_EXPERTS]);

impl Default for ExpertWeights {
    fn default() -> Self {
        Self([1.0 / N_EXPERTS as f64; N_EXPERTS])
    }
}

impl ExpertWeights {
    /// Returns the weighted median of the forecasts; None if no expert has one.
    pub(crate) fn median(&self, opinions: &ExpertForecasts) -> Option<f64> {
        let mut weighted: [(i64, f64); N_EXPERTS] = [(0, 0.0); N_EXPERTS];
        let mut n = 0;
        for (opinion, vote) in opinions.iter().zip(self.0) {
            if let Some(opinion) = opinion {
                weighted[n] = (in_order(opinion.to_bits().cast_signed()), vote);
                n += 1;
            }
        }
        let weighted = &mut weighted[..n];
        // Votes for equal forecasts stay in the order of the experts.
        weighted.sort_by_key(|(opinion, _)| *opinion);
        let half = weighted.iter().map(|(_, vote)| vote).sum::<f64>() / 2.0;
        let mut below = 0.0;
        weighted.iter().find_map(|(opinion, vote)| {
            below += vote;
            let opinion = f64::from_bits(in_order(*opinion).cast_unsigned());
            (below >= half).then_some(opinion)
        })
    }

    /// Moves votes to the experts whose forecast was near `actual`. An expert without a forecast
    /// loses as much as the median did, so that silence neither pays nor costs.
    pub(crate) fn learn(&mut self, opinions: &ExpertForecasts, actual: f64) {
        let all_known = opinions.iter().all(Option::is_some);
        let together = if all_known {
            None
        } else {
            self.median(opinions)
        };
        if !all_known && together.is_none() {
            return;
        }
        for (vote, opinion) in self.0.iter_mut().zip(opinions) {
            if let Some(opinion) = opinion.or(together) {
                *vote *= (-RATE * loss(opinion, actual)).exp();
            }
        }
        let total: f64 = self.0.iter().sum();
        for vote in &mut self.0 {
            *vote = (1.0 - SHARED) * *vote / total + SHARED / N_EXPERTS as f64;
        }
    }

    /// Returns the fraction of the votes that the expert with this index has.
    pub(crate) fn weight(&self, place: usize) -> f64 {
        self.0[place]
    }

    /// Returns the index of the expert with the most votes; ties go to the first.
    pub(crate) fn leader(&self) -> usize {
        (1..N_EXPERTS).fold(0, |best, i| if self.0[i] > self.0[best] { i } else { best })
    }
}

/// Maps the bits of floats to integers in the order of [`f64::total_cmp`], and back.
const fn in_order(bits: i64) -> i64 {
    bits ^ ((bits >> 63) & i64::MAX)
}

fn loss(opinion: f64, actual: f64) -> f64 {
    (opinion - actual).abs().min(MAX_LOSS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_have_the_total_order_of_floats(a: f64, b: f64) {
            let [x, y] = [a, b].map(|float| in_order(float.to_bits().cast_signed()));
            prop_assert_eq!(x.cmp(&y), a.total_cmp(&b));
            prop_assert_eq!(in_order(x).cast_unsigned(), a.to_bits());
        }
    }

    fn opinions(values: &[f64]) -> ExpertForecasts {
        std::array::from_fn(|i| values.get(i).copied())
    }

    #[test]
    fn equal_weights_give_the_lower_median() {
        let votes = ExpertWeights::default();
        assert_eq!(votes.median(&opinions(&[5.0, 1.0, 3.0])), Some(3.0));
        assert_eq!(votes.median(&opinions(&[5.0, 1.0])), Some(1.0));
        assert_eq!(votes.median(&opinions(&[])), None);
    }

    #[test]
    fn single_loss_updates_weights_as_documented() {
        let mut votes = ExpertWeights::default();
        votes.learn(&[Some(3.0); N_EXPERTS].map(|o| o), 3.0);
        assert_eq!(votes.leader(), 0);
        let mut opinions = [Some(4.0); N_EXPERTS];
        opinions[1] = Some(3.0);
        votes.learn(&opinions, 3.0);
        let others = (N_EXPERTS - 1) as f64 * (-RATE).exp();
        let expected = 0.95 / (1.0 + others) + 0.05 / N_EXPERTS as f64;
        assert!((votes.0[1] - expected).abs() < 1e-12);
        assert_eq!(votes.leader(), 1);
    }

    #[test]
    fn loss_of_a_huge_error_is_capped_at_two() {
        let (mut near, mut far) = (ExpertWeights::default(), ExpertWeights::default());
        near.learn(&opinions(&[0.0, 2.0]), 0.0);
        far.learn(&opinions(&[0.0, 1e300]), 0.0);
        assert_eq!(near, far);
    }
}
