//! How well a class is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many stages there are.
pub(crate) const N_STAGES: usize = 5;

/// How well a class is known when a job of it is forecast. Each stage is calibrated on its own,
/// so a stage at which forecasts are worse has wider bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClassStage {
    /// No job of it has ended yet: the answer comes from the whole site.
    Unseen,
    /// 1 to 5 jobs have ended: bounds come from other classes at this stage.
    Cold,
    /// 6 to 29 jobs have ended: bounds come from other classes at this stage.
    Young,
    /// It may be changing its mode: an alarm was raised, and nothing is decided yet.
    Changing,
    /// At least 30 jobs have ended, and nothing is changing.
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

    /// The stage of a class with `n_known` jobs in its present mode.
    pub(crate) const fn of(n_known: usize, changing: bool) -> Self {
        match n_known {
            0 => Self::Unseen,
            1..=5 => Self::Cold,
            6..=29 => Self::Young,
            _ if changing => Self::Changing,
            _ => Self::Settled,
        }
    }

    /// Whether the class is too little known for bounds of its own.
    pub const fn is_cold(self) -> bool {
        match self {
            Self::Unseen | Self::Cold | Self::Young => true,
            Self::Changing | Self::Settled => false,
        }
    }
}

/// In words, to stand after "forecast from".
impl fmt::Display for ClassStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unseen => "the whole site: no job of this class has ended yet",
            Self::Cold => "very few jobs of this class",
            Self::Young => "few jobs of this class",
            Self::Changing => "a class that may be changing: margins are wider",
            Self::Settled => "a well-known class",
        })
    }
}
