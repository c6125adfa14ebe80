//! Probabilities of upper bounds.

use std::fmt;
use std::str::FromStr;

use tollgate_model::Probability;

/// A probability between 0 and 1, both ends excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceLevel(f64);

impl ConfidenceLevel {
    /// 0.9.
    pub const P90: Self = Self(0.9);
    /// 0.95.
    pub const P95: Self = Self(0.95);

    /// Creates a level. None unless it is above 0 and below 1.
    pub fn new(level: f64) -> Option<Self> {
        (level > 0.0 && level < 1.0).then_some(Self(level))
    }

    /// Returns the level as a probability.
    pub fn probability(self) -> Probability {
        Probability::new(self.0).expect("between 0 and 1")
    }
}

impl FromStr for ConfidenceLevel {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let level = word.trim().parse().ok();
        level
            .and_then(Self::new)
            .ok_or("expected a probability above 0 and below 1, such as 0.95")
    }
}

impl fmt::Display for ConfidenceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_outside_0_to_1_is_rejected() {
        assert!("0.9".parse::<ConfidenceLevel>().is_ok());
        for word in ["0", "1", "95", "NaN", "most"] {
            assert!(word.parse::<ConfidenceLevel>().is_err(), "{word}");
        }
    }
}
