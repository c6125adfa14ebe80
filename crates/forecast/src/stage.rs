//! The stages of a class by its amount of history.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of stages.
pub(crate) const N_STAGES: usize = 5;

/// The stage of a class when one of its jobs is forecast. Each stage is calibrated on its own, so a
/// stage with worse forecasts has wider bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClassStage {
    /// No job of the class has ended yet: the forecast comes from the whole site.
    Unseen,
    /// 1 to 5 jobs have ended: bounds come from other classes at this stage.
    Cold,
    /// 6 to 29 jobs have ended: bounds come from other classes at this stage.
    Young,
    /// The mode may be changing: an alarm was raised, and the contest is undecided.
    Changing,
    /// At least 30 jobs have ended, and the mode is not changing.
    Settled,
}

impl ClassStage {
    /// Every stage.
    pub const ALL: [Self; N_STAGES] = [
        Self::Unseen,
        Self::Cold,
        Self::Young,
        Self::Changing,
        Self::Settled,
    ];

    /// Returns the stage of a class with `n_known` jobs in its present mode.
    pub(crate) const fn of(n_known: usize, changing: bool) -> Self {
        match n_known {
            0 => Self::Unseen,
            1..=5 => Self::Cold,
            6..=29 => Self::Young,
            _ if changing => Self::Changing,
            _ => Self::Settled,
        }
    }

    /// Returns true if the class has too little history for bounds of its own.
    pub const fn is_cold(self) -> bool {
        match self {
            Self::Unseen | Self::Cold | Self::Young => true,
            Self::Changing | Self::Settled => false,
        }
    }
}

/// Formats the stage as words that follow "forecast from".
impl fmt::Display for ClassStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unseen => "the whole site: no job of this class has ended yet",
            Self::Cold => "very few jobs of this class",
            Self::Young => "few jobs of this class",
            Self::Changing => "a class that may be changing",
            Self::Settled => "a well-known class",
        })
    }
}
