//! The four objectives of a commercial computing service.

use std::fmt;
use std::str::FromStr;

use crate::Objectives;

/// An objective of a provider (Yeo & Buyya 2008, Table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Objective {
    /// Manage wait time for SLA acceptance (eq. 1), in seconds.
    Wait,
    /// Meet SLA requests (eq. 2), in %.
    Sla,
    /// Ensure reliability of accepted SLAs (eq. 3), in %.
    Reliability,
    /// Attain profitability (eq. 4), in %.
    Profitability,
}

/// The direction in which the values of an objective get better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Small values are better.
    Lower,
    /// Large values are better.
    Higher,
}

impl Objective {
    /// All objectives, in the order of Table I.
    pub const ALL: [Self; 4] = [
        Self::Wait,
        Self::Sla,
        Self::Reliability,
        Self::Profitability,
    ];

    /// Returns the name of the objective in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Sla => "sla",
            Self::Reliability => "reliability",
            Self::Profitability => "profitability",
        }
    }

    /// Returns the direction in which the values get better.
    pub const fn preference(self) -> Preference {
        match self {
            Self::Wait => Preference::Lower,
            Self::Sla | Self::Reliability | Self::Profitability => Preference::Higher,
        }
    }

    /// Returns the raw value in `measured`: the wait in seconds, the others in %. None where the
    /// value is undefined: the wait if no job was fulfilled, profitability without a market.
    pub fn value(self, measured: &Objectives) -> Option<f64> {
        match self {
            Self::Wait => measured.wait.map(|wait| wait.as_secs_f64()),
            Self::Sla => Some(measured.sla_pct),
            Self::Reliability => Some(measured.reliability_pct),
            Self::Profitability => measured.profitability_pct,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a word that is not the name of an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no objective `{0}`: wait, sla, reliability or profitability")]
pub struct UnknownObjective(pub String);

impl FromStr for Objective {
    type Err = UnknownObjective;

    fn from_str(word: &str) -> Result<Self, UnknownObjective> {
        Self::ALL
            .into_iter()
            .find(|objective| objective.name() == word)
            .ok_or_else(|| UnknownObjective(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for objective in Objective::ALL {
            assert_eq!(objective.name().parse(), Ok(objective));
        }
        let unknown = "speed".parse::<Objective>().unwrap_err();
        assert!(unknown.to_string().contains("`speed`"));
    }
}
