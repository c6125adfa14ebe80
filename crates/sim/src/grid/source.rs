//! The sources of forecasts.

use std::fmt;
use std::str::FromStr;

use tollgate_forecast::expert::N_EXPERTS;
use tollgate_forecast::{AlarmThreshold, AlarmTriggers, Expert};

/// A source of forecasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForecastSource {
    /// The joint forecast of a model, with the bounds of the model.
    Joint(JointModel),
    /// One expert.
    Single(Expert),
    /// A polynomial of order 3 through the last ten run times in seconds (Figure 5 of the paper).
    Cubic,
    /// An ARMA model of orders 4 and 4 of ln run time (Figure 6 of the paper).
    Arma,
    /// The same model of run time in seconds.
    ArmaSeconds,
    /// The user's request.
    Request,
    /// For each class the single expert with the smallest mean error, chosen with hindsight.
    BestSingle,
}

/// A model that has one forecast from many sources, and bounds of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JointModel {
    /// All experts together.
    Experts(ModelVariant),
    /// The belief, which services and replays state. The jobs of a class count as those of one user.
    Belief,
}

/// The handling of mode changes by the experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelVariant {
    /// A floating threshold for alarms, and a staged transition.
    #[default]
    Floating,
    /// The paper's thresholds, and a staged transition.
    Fixed,
    /// No alarms: one model for all times.
    Unstaged,
}

/// Number of sources whose point forecasts an evaluation keeps: all but [`ForecastSource::BestSingle`],
/// with the joint forecast of one model.
pub const N_POINTS: usize = N_EXPERTS + 5;

/// Text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a source of forecasts: expected belief, experts, experts-fixed, \
     experts-unstaged, best-single, cubic-seconds, arma-4-4, arma-4-4-seconds, request or an expert such as last"
)]
pub struct ForecastSourceError(pub String);

impl Default for JointModel {
    fn default() -> Self {
        Self::Experts(ModelVariant::default())
    }
}

impl JointModel {
    /// Returns the variant of the experts beside the joint forecast.
    pub const fn experts(self) -> ModelVariant {
        match self {
            Self::Experts(variant) => variant,
            Self::Belief => ModelVariant::Floating,
        }
    }
}

impl ModelVariant {
    /// Returns when a job is an alarm.
    pub fn triggers(self) -> AlarmTriggers {
        match self {
            Self::Floating => AlarmTriggers::default(),
            Self::Fixed => AlarmTriggers {
                threshold: AlarmThreshold::Fixed,
                ..AlarmTriggers::default()
            },
            Self::Unstaged => AlarmTriggers {
                error: f64::INFINITY,
                ..AlarmTriggers::default()
            },
        }
    }
}

impl ForecastSource {
    /// Returns all experts together.
    pub const fn experts(variant: ModelVariant) -> Self {
        Self::Joint(JointModel::Experts(variant))
    }

    /// Returns the model whose joint forecast the source needs.
    pub fn model(self) -> JointModel {
        match self {
            Self::Joint(model) => model,
            Self::Single(_)
            | Self::Cubic
            | Self::Arma
            | Self::ArmaSeconds
            | Self::Request
            | Self::BestSingle => JointModel::default(),
        }
    }

    /// Returns the index of the source among the points of an evaluation; None for
    /// [`Self::BestSingle`].
    pub const fn index(self) -> Option<usize> {
        match self {
            Self::Single(expert) => Some(expert as usize),
            Self::Joint(_) => Some(N_EXPERTS),
            Self::Cubic => Some(N_EXPERTS + 1),
            Self::Arma => Some(N_EXPERTS + 2),
            Self::ArmaSeconds => Some(N_EXPERTS + 3),
            Self::Request => Some(N_EXPERTS + 4),
            Self::BestSingle => None,
        }
    }
}

impl FromStr for ForecastSource {
    type Err = ForecastSourceError;

    fn from_str(word: &str) -> Result<Self, ForecastSourceError> {
        let expert = Expert::ALL.into_iter().find(|expert| expert.key() == word);
        match word {
            "belief" => Ok(Self::Joint(JointModel::Belief)),
            "experts" => Ok(Self::experts(ModelVariant::Floating)),
            "experts-fixed" => Ok(Self::experts(ModelVariant::Fixed)),
            "experts-unstaged" => Ok(Self::experts(ModelVariant::Unstaged)),
            "best-single" => Ok(Self::BestSingle),
            "cubic-seconds" => Ok(Self::Cubic),
            "arma-4-4" => Ok(Self::Arma),
            "arma-4-4-seconds" => Ok(Self::ArmaSeconds),
            "request" => Ok(Self::Request),
            _ => expert
                .map(Self::Single)
                .ok_or_else(|| ForecastSourceError(word.to_owned())),
        }
    }
}

impl fmt::Display for ForecastSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joint(JointModel::Belief) => "belief",
            Self::Joint(JointModel::Experts(ModelVariant::Floating)) => "experts",
            Self::Joint(JointModel::Experts(ModelVariant::Fixed)) => "experts-fixed",
            Self::Joint(JointModel::Experts(ModelVariant::Unstaged)) => "experts-unstaged",
            Self::BestSingle => "best-single",
            Self::Cubic => "cubic-seconds",
            Self::Arma => "arma-4-4",
            Self::ArmaSeconds => "arma-4-4-seconds",
            Self::Request => "request",
            Self::Single(expert) => expert.key(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sources_round_trip() {
        for word in [
            "belief",
            "experts-unstaged",
            "best-single",
            "median_20",
            "arma-4-4",
        ] {
            assert_eq!(word.parse::<ForecastSource>().unwrap().to_string(), word);
        }
        assert!("wavelet".parse::<ForecastSource>().is_err());
    }

    #[test]
    fn indices_are_dense() {
        let words = [
            "experts",
            "cubic-seconds",
            "arma-4-4",
            "arma-4-4-seconds",
            "request",
        ];
        let sources = words.map(|word| word.parse::<ForecastSource>().unwrap());
        let experts = Expert::ALL.map(ForecastSource::Single);
        let all = experts.iter().chain(&sources);
        let mut places: Vec<usize> = all.filter_map(|source| source.index()).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..N_POINTS));
    }
}
