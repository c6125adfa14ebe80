//! Normalisation of raw values to scores that can be compared and added.
//!
//! The paper (§4.1) wants results between 0, the worst, and 1, the best, and does not give the
//! computation. Two rules are available; every output names the rule that was used.

use std::fmt;
use std::str::FromStr;

use crate::{Objective, Preference};

/// A rule that turns raw values of an objective into scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Normalisation {
    /// The worst value of the pool scores 0, the best 1, others in proportion.
    #[default]
    MinMax,
    /// A percentage is divided by 100. A wait scores 1 minus its fraction of the longest wait in
    /// the pool.
    Percent,
}

/// A normalised result: 0 is the worst, 1 the best.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Score(f64);

/// A rule prepared for one objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    worst: f64,
    best: f64,
}

impl Normalisation {
    /// All rules.
    pub const ALL: [Self; 2] = [Self::MinMax, Self::Percent];

    /// Returns the name of the rule in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinMax => "min-max",
            Self::Percent => "percent",
        }
    }

    /// Returns the scale of `objective` over `pool`: its raw values (seconds or %) under every
    /// policy, in every scenario, at every setting of one market and one set. Missing and
    /// non-finite values are ignored.
    pub fn scale(self, objective: Objective, pool: impl IntoIterator<Item = Option<f64>>) -> Scale {
        let (min, max) = extremes(pool);
        match (self, objective.preference()) {
            (Self::MinMax, Preference::Higher) => Scale::new(min, max),
            (Self::MinMax, Preference::Lower) => Scale::new(max, min),
            (Self::Percent, Preference::Higher) => Scale::new(0.0, 100.0),
            (Self::Percent, Preference::Lower) => Scale::new(max, 0.0),
        }
    }
}

impl Scale {
    fn new(worst: f64, best: f64) -> Self {
        Self { worst, best }
    }

    /// Returns the score of a raw value. A value beyond the ends of the scale (a loss under
    /// [`Normalisation::Percent`]) gets the score of that end. A missing value (the wait if no job
    /// was fulfilled) gets the worst score. If all values of the pool are equal, every value scores
    /// 1.
    pub fn score(&self, raw: Option<f64>) -> Score {
        let Some(raw) = raw.filter(|raw| raw.is_finite()) else {
            return Score::WORST;
        };
        if self.worst == self.best {
            return Score::BEST;
        }
        let score = (raw - self.worst) / (self.best - self.worst);
        Score(score.clamp(0.0, 1.0))
    }
}

impl Score {
    /// The worst score, 0.
    pub const WORST: Self = Self(0.0);
    /// The best score, 1.
    pub const BEST: Self = Self(1.0);

    /// Returns a score that was computed elsewhere, or None unless it is between 0 and 1.
    pub fn new(score: f64) -> Option<Self> {
        (0.0..=1.0).contains(&score).then_some(Self(score))
    }

    /// Returns the score as a number, 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// Returns the smallest and largest finite value; 0 and 0 for an empty pool.
fn extremes(pool: impl IntoIterator<Item = Option<f64>>) -> (f64, f64) {
    let finite = pool.into_iter().flatten().filter(|raw| raw.is_finite());
    finite
        .map(|raw| (raw, raw))
        .reduce(|(min, max), (low, high)| (min.min(low), max.max(high)))
        .unwrap_or((0.0, 0.0))
}

impl fmt::Display for Normalisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a word that is not the name of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no normalisation `{0}`: min-max or percent")]
pub struct UnknownNormalisation(pub String);

impl FromStr for Normalisation {
    type Err = UnknownNormalisation;

    fn from_str(word: &str) -> Result<Self, UnknownNormalisation> {
        Self::ALL
            .into_iter()
            .find(|rule| rule.name() == word)
            .ok_or_else(|| UnknownNormalisation(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scores(rule: Normalisation, objective: Objective, raw: &[f64]) -> Vec<f64> {
        let pool = || raw.iter().copied().map(Some);
        let scale = rule.scale(objective, pool());
        pool().map(|raw| scale.score(raw).get()).collect()
    }

    #[test]
    fn min_max_spreads_a_pool_over_the_whole_range() {
        let rule = Normalisation::MinMax;
        let raw = [20.0, 40.0, 60.0];
        assert_eq!(scores(rule, Objective::Sla, &raw), [0.0, 0.5, 1.0]);
        assert_eq!(scores(rule, Objective::Wait, &raw), [1.0, 0.5, 0.0]);
    }

    #[test]
    fn percent_keeps_percentages_and_sets_waits_against_the_longest() {
        let rule = Normalisation::Percent;
        let raw = [20.0, 40.0, 80.0];
        assert_eq!(scores(rule, Objective::Reliability, &raw), [0.2, 0.4, 0.8]);
        assert_eq!(scores(rule, Objective::Wait, &raw), [0.75, 0.5, 0.0]);
        let losses = [-250.0, 50.0, 130.0];
        assert_eq!(
            scores(rule, Objective::Profitability, &losses),
            [0.0, 0.5, 1.0]
        );
    }

    #[test]
    fn a_pool_of_equal_values_is_as_good_as_can_be() {
        for objective in Objective::ALL {
            let scores = scores(Normalisation::MinMax, objective, &[30.0, 30.0]);
            assert_eq!(scores, [1.0, 1.0]);
        }
        let no_wait = scores(Normalisation::Percent, Objective::Wait, &[0.0, 0.0]);
        assert_eq!(no_wait, [1.0, 1.0]);
    }

    #[test]
    fn a_missing_value_is_the_worst_and_moves_no_scale() {
        for rule in Normalisation::ALL {
            let pool = [Some(10.0), None, Some(f64::NAN), Some(40.0)];
            let scale = rule.scale(Objective::Wait, pool);
            assert_eq!(scale, rule.scale(Objective::Wait, [Some(10.0), Some(40.0)]));
            assert_eq!(scale.score(None), Score::WORST);
            assert_eq!(scale.score(Some(f64::NAN)), Score::WORST);
        }
    }

    #[test]
    fn names_are_read_back() {
        for rule in Normalisation::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
        }
        assert!("z-score".parse::<Normalisation>().is_err());
    }

    proptest! {
        #[test]
        fn scores_stay_in_range_and_keep_the_preferred_order(
            raw in proptest::collection::vec(-1e6..1e6f64, 2..20),
        ) {
            for rule in Normalisation::ALL {
                for objective in Objective::ALL {
                    let scores = scores(rule, objective, &raw);
                    for (a, score) in raw.iter().zip(&scores) {
                        prop_assert!((0.0..=1.0).contains(score));
                        for (b, other) in raw.iter().zip(&scores) {
                            let better = match objective.preference() {
                                Preference::Lower => a < b,
                                Preference::Higher => a > b,
                            };
                            prop_assert!(!better || score >= other);
                        }
                    }
                }
            }
        }
    }
}
