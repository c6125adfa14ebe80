//! The source of the estimates that policies receive.

use std::fmt;
use std::str::FromStr;

use tollgate_model::Probability;

/// The source of the estimate that replaces a job's own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EstimateOrigin {
    /// The user's estimate.
    #[default]
    User,
    /// The true run time, which is unknown in reality: the value of perfect forecasts.
    True,
    /// The quantile of its forecast at this level.
    Forecast(Probability),
    /// The user's estimate, or the quantile of the job's forecast at this level if the quantile is
    /// longer or the user gave no estimate.
    Larger(Probability),
}

/// An error for a word that names no source of estimates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a source of estimates: expected user, true, forecast:LEVEL or user+forecast:LEVEL, with a LEVEL above 0 \
     and below 1"
)]
pub struct EstimateOriginError(pub String);

impl EstimateOrigin {
    /// Returns true if forecasts are made.
    pub const fn uses_forecast(self) -> bool {
        match self {
            Self::User | Self::True => false,
            Self::Forecast(_) | Self::Larger(_) => true,
        }
    }
}

impl FromStr for EstimateOrigin {
    type Err = EstimateOriginError;

    fn from_str(word: &str) -> Result<Self, EstimateOriginError> {
        let level = |word: &str| {
            let level = word.parse().ok().and_then(Probability::new);
            level.filter(|level| 0.0 < level.as_f64() && level.as_f64() < 1.0)
        };
        let read = match word.split_once(':') {
            None if word == "user" => Some(Self::User),
            None if word == "true" => Some(Self::True),
            Some(("forecast", word)) => level(word).map(Self::Forecast),
            Some(("user+forecast", word)) => level(word).map(Self::Larger),
            None | Some(_) => None,
        };
        read.ok_or_else(|| EstimateOriginError(word.to_owned()))
    }
}

impl fmt::Display for EstimateOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::True => f.write_str("true"),
            Self::Forecast(level) => write!(f, "forecast:{}", level.as_f64()),
            Self::Larger(level) => write!(f, "user+forecast:{}", level.as_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_origins_round_trip() {
        for word in ["user", "true", "forecast:0.9", "user+forecast:0.95"] {
            assert_eq!(word.parse::<EstimateOrigin>().unwrap().to_string(), word);
        }
        for word in [
            "",
            "usr",
            "forecast",
            "forecast:",
            "forecast:1",
            "user+forecast:0",
            "forecast:NaN",
        ] {
            assert!(word.parse::<EstimateOrigin>().is_err(), "{word}");
        }
    }
}
