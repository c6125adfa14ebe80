//! Integrated risk analysis: several objectives at once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::{Objective, Risk};

/// The maximum deviation of the sum of the weights from 1. Thirds written with ten digits deviate
/// by this much.
const SUM_TOLERANCE: f64 = 1e-9;

/// The weights of the objectives: each between 0 and 1, with a sum of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(BTreeMap<Objective, f64>);

/// The error for invalid weights, or for weights of objectives that were not measured.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum WeightsError {
    /// A weight is outside its range.
    #[error("the weight of {objective} is {weight}: expected a number from 0 to 1")]
    OutOfRange {
        /// The weighted objective.
        objective: Objective,
        /// Its weight.
        weight: f64,
    },
    /// An objective has two weights.
    #[error("{objective} has more than one weight")]
    Twice {
        /// The weighted objective.
        objective: Objective,
    },
    /// The sum of the weights is not 1.
    #[error("the weights add up to {sum}: expected 1")]
    Sum {
        /// The sum of the weights.
        sum: f64,
    },
    /// An objective with a weight was not analysed.
    #[error("{objective} has a weight, but no separate risk")]
    Missing {
        /// The weighted objective.
        objective: Objective,
    },
}

/// The error for a text that does not parse as weights.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParseWeightsError {
    /// A word is not a pair of an objective and a number.
    #[error("expected OBJECTIVE=NUMBER, got `{0}`: the objectives are {names}", names = names())]
    NotAPair(String),
    /// The pairs are not valid weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Returns the names of all objectives as a list.
fn names() -> String {
    Objective::ALL.map(Objective::name).join(", ")
}

/// Parses weights such as `wait=0.1,sla=0.9`.
impl FromStr for Weights {
    type Err = ParseWeightsError;

    fn from_str(words: &str) -> Result<Self, ParseWeightsError> {
        let pair = |word: &str| {
            let (objective, weight) = word.split_once('=')?;
            Some((objective.trim().parse().ok()?, weight.trim().parse().ok()?))
        };
        let pairs: Vec<(Objective, f64)> = words
            .split(',')
            .map(|word| pair(word).ok_or_else(|| ParseWeightsError::NotAPair(word.to_owned())))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(pairs)?)
    }
}

/// Writes the weights in the format that is parsed.
impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (objective, weight)) in self.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{}={weight}", objective.name())?;
        }
        Ok(())
    }
}

impl Weights {
    /// Checks weights (Yeo & Buyya 2008, §4.2).
    ///
    /// # Errors
    /// [`WeightsError::OutOfRange`], [`WeightsError::Twice`] or [`WeightsError::Sum`].
    pub fn new(weights: impl IntoIterator<Item = (Objective, f64)>) -> Result<Self, WeightsError> {
        let mut checked = BTreeMap::new();
        for (objective, weight) in weights {
            if !(0.0..=1.0).contains(&weight) {
                return Err(WeightsError::OutOfRange { objective, weight });
            }
            if checked.insert(objective, weight).is_some() {
                return Err(WeightsError::Twice { objective });
            }
        }
        let sum: f64 = checked.values().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(WeightsError::Sum { sum });
        }
        Ok(Self(checked))
    }

    /// Returns the same weight for each of `objectives`, as in the paper's experiments.
    ///
    /// # Errors
    /// [`WeightsError::Twice`] if an objective is named twice, [`WeightsError::Sum`] if
    /// `objectives` is empty.
    pub fn equal(objectives: &[Objective]) -> Result<Self, WeightsError> {
        let weight = 1.0 / objectives.len() as f64;
        Self::new(objectives.iter().map(|&objective| (objective, weight)))
    }

    /// Returns the objectives and their weights, in the order of [`Objective::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Objective, f64)> {
        self.0
            .iter()
            .map(|(&objective, &weight)| (objective, weight))
    }

    /// Returns the performance and volatility of all objectives together: weighted sums of the
    /// separate values (Yeo & Buyya 2008, eq. 7-8). Objectives without a weight do not count.
    ///
    /// # Errors
    /// [`WeightsError::Missing`] if an objective with a weight is not in `separate`.
    pub fn integrate(&self, separate: &BTreeMap<Objective, Risk>) -> Result<Risk, WeightsError> {
        let mut integrated = Risk {
            performance: 0.0,
            volatility: 0.0,
        };
        for (objective, weight) in self.iter() {
            let risk = separate
                .get(&objective)
                .ok_or(WeightsError::Missing { objective })?;
            integrated.performance += weight * risk.performance;
            integrated.volatility += weight * risk.volatility;
        }
        Ok(integrated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Objective::{Profitability, Reliability, Sla, Wait};
    use proptest::prelude::*;

    fn risk(performance: f64, volatility: f64) -> Risk {
        Risk {
            performance,
            volatility,
        }
    }

    #[test]
    fn weights_round_trip() {
        let read = |words: &str| words.parse::<Weights>();
        let weights = read("wait=0.1, sla=0.4,reliability=0.3,profitability=0.2").unwrap();
        assert_eq!(read(&weights.to_string()), Ok(weights));
        assert_eq!(
            read("wait=0.5,speed=0.5").unwrap_err().to_string(),
            "expected OBJECTIVE=NUMBER, got `speed=0.5`: the objectives are wait, sla, \
             reliability, profitability"
        );
        let sum = ParseWeightsError::Weights(WeightsError::Sum { sum: 0.5 });
        assert_eq!(read("wait=0.5"), Err(sum));
    }

    #[test]
    fn weighted_sums() {
        let weights = Weights::new([(Wait, 0.25), (Sla, 0.75)]).unwrap();
        let separate = BTreeMap::from([
            (Wait, risk(1.0, 0.0)),
            (Sla, risk(0.5, 0.25)),
            (Reliability, risk(0.1, 0.5)),
        ]);
        assert_eq!(weights.integrate(&separate), Ok(risk(0.625, 0.1875)));
    }

    #[test]
    fn weights_must_add_up_and_stay_in_range() {
        assert_eq!(
            Weights::new([(Wait, 0.5), (Sla, 0.25)]),
            Err(WeightsError::Sum { sum: 0.75 })
        );
        assert_eq!(
            Weights::new([(Wait, 1.5), (Sla, -0.5)]),
            Err(WeightsError::OutOfRange {
                objective: Wait,
                weight: 1.5
            })
        );
        assert!(Weights::new([(Wait, f64::NAN)]).is_err());
        assert_eq!(
            Weights::new([(Wait, 0.5), (Wait, 0.5)]),
            Err(WeightsError::Twice { objective: Wait })
        );
        assert_eq!(Weights::equal(&[]), Err(WeightsError::Sum { sum: 0.0 }));
    }

    #[test]
    fn equal_weights_are_thirds_and_quarters() {
        for objectives in [&[Wait, Sla, Reliability][..], &Objective::ALL] {
            let weights = Weights::equal(objectives).unwrap();
            let weight = 1.0 / objectives.len() as f64;
            assert!(weights.iter().all(|(_, found)| found == weight));
        }
    }

    #[test]
    fn unmeasured_objective_cannot_be_weighted() {
        let weights = Weights::equal(&[Sla, Profitability]).unwrap();
        let separate = BTreeMap::from([(Sla, risk(0.5, 0.25))]);
        assert_eq!(
            weights.integrate(&separate),
            Err(WeightsError::Missing {
                objective: Profitability
            })
        );
    }

    proptest! {
        #[test]
        fn integrated_risk_lies_between_its_parts(
            parts in proptest::array::uniform4((0.0..=1.0f64, 0.0..=0.5f64, 0.01..1.0f64)),
        ) {
            let sum: f64 = parts.iter().map(|part| part.2).sum();
            let weighed = || Objective::ALL.into_iter().zip(parts);
            let weights = Weights::new(weighed().map(|(o, part)| (o, part.2 / sum))).unwrap();
            let separate = weighed().map(|(o, part)| (o, risk(part.0, part.1))).collect();
            let whole = weights.integrate(&separate).unwrap();
            let (low, high) = parts.iter().fold((1.0f64, 0.0f64), |(low, high), part| {
                (low.min(part.0), high.max(part.0))
            });
            prop_assert!((low - 1e-9..=high + 1e-9).contains(&whole.performance));
            prop_assert!(whole.volatility <= 0.5 + 1e-9);
        }
    }
}
