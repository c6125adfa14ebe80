//! Doubt: whether the last batches of a class ran as they were believed to.
//!
//! A batch outside the bounds of its statement may be an exception. If the next one is outside the same bounds, too, the
//! class has changed: statements adapt to the first, so only the bounds from before show that. Once four batches run as
//! believed, the new mode is adopted.
//!
//! In doubt, a statement has one more level: that the class stays where its last batches were (`new_mode`). And it is
//! corrected apart, by how often those in the same doubt held. On archived traces a tenth to a third of them is broken at
//! the level .9 otherwise. So margins grow with the first batch that runs long, and shrink once the class runs as believed.
//! One short batch casts no doubt: the next keep their bounds as often as others.
//!
//! The paper asks for a larger margin and a shorter horizon while a class changes (Lazarevic, Sacks & Prnjat 2005,
//! section 3). The horizon needs no rule of its own: a wide belief makes promises far ahead improbable.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Instant, Probability, Span};

use super::BeliefJob;
use super::batch::{BatchId, LiveBatches};
use super::group::Group;

/// Number of batches as believed that end a change.
const N_ADOPTED: u8 = 4;
/// The levels outside which a run time is a surprise.
const LOW: Probability = Probability::new(0.05).expect("a probability");
const HIGH: Probability = Probability::new(0.95).expect("a probability");

/// Number of kinds of doubt.
pub(crate) const N_DOUBTS: usize = 3;

/// Returns the run time beyond which a job is longer than believed.
pub(crate) fn longest(believed: &Distribution) -> Span {
    believed.quantile(HIGH)
}

/// The bounds of what is believed of a run time: a run time outside them is a surprise.
pub(crate) type Bounds = [Span; 2];

pub(crate) fn bounds(believed: &Distribution) -> Bounds {
    [LOW, HIGH].map(|level| believed.quantile(level))
}

/// The direction of a surprise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Direction {
    Shorter,
    Longer,
}

impl Direction {
    /// Returns whether a run time is beyond the bound in this direction.
    fn is_beyond(self, runtime: Span, [low, high]: Bounds) -> bool {
        match self {
            Self::Shorter => runtime < low,
            Self::Longer => runtime > high,
        }
    }
}

/// How the batches of a group ran so far, beside what was believed of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GroupCourse {
    /// No batch has ended.
    #[default]
    Unknown,
    /// The last batch ran as believed, or as before an exception.
    Settled,
    /// The last batch was outside these bounds of its statement.
    Surprised {
        direction: Direction,
        bounds: Bounds,
    },
    /// Two batches in a row were outside a bound that stood before. `n_batches` have ended since the first began the
    /// change, those two among them; `n_left` more as believed make it an old one.
    Changed {
        direction: Direction,
        n_left: u8,
        n_batches: u8,
    },
}

impl GroupCourse {
    /// Returns the bounds by which the next batch shows whether the class has changed; None if the last was no surprise.
    pub(crate) const fn suspected(&self) -> Option<Bounds> {
        match self {
            Self::Surprised { bounds, .. } => Some(*bounds),
            Self::Unknown | Self::Settled | Self::Changed { .. } => None,
        }
    }

    /// Returns the number of batches since the class may have changed.
    pub(crate) const fn n_since_change(&self) -> u8 {
        match self {
            Self::Unknown | Self::Settled => 0,
            Self::Surprised { .. } => 1,
            Self::Changed { n_batches, .. } => *n_batches,
        }
    }

    /// Follows the first job of a batch, which ran for `runtime`.
    pub(crate) fn follow(&mut self, believed: &Distribution, runtime: Span) {
        let bounds = bounds(believed);
        let surprise = [Direction::Shorter, Direction::Longer]
            .into_iter()
            .find(|direction| direction.is_beyond(runtime, bounds));
        let surprised = |direction| Self::Surprised { direction, bounds };
        *self = match (*self, surprise) {
            (Self::Surprised { direction, bounds }, _) if direction.is_beyond(runtime, bounds) => {
                Self::Changed {
                    direction,
                    n_left: N_ADOPTED,
                    n_batches: 2,
                }
            }
            (
                Self::Changed {
                    direction,
                    n_left,
                    n_batches,
                },
                None,
            ) if n_left > 1 => Self::Changed {
                direction,
                n_left: n_left - 1,
                n_batches: n_batches.saturating_add(1),
            },
            (Self::Changed { n_batches, .. }, Some(direction)) => Self::Changed {
                direction,
                n_left: N_ADOPTED,
                n_batches: n_batches.saturating_add(1),
            },
            (_, surprise) => surprise.map_or(Self::Settled, surprised),
        };
    }
}

/// The doubt in a belief, by the last batches of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Doubt {
    /// They ran as believed.
    #[default]
    None,
    /// The last one ran longer than nineteen in twenty were believed to.
    Longer,
    /// Two in a row did, by what was believed before: the class has changed.
    ChangedLonger,
    /// Two in a row ran shorter than nineteen in twenty were believed to: the class has changed.
    ChangedShorter,
}

impl Doubt {
    /// Returns the doubt by the last batches of a group, those that run longer than believed among them. None if no batch
    /// says anything. The batch of the job itself is no evidence.
    pub(crate) fn of(
        group: &Group,
        own: Option<BatchId>,
        live: &LiveBatches,
        now: Instant,
    ) -> Option<Self> {
        let mut others = group.slots.iter().filter(|slot| Some(slot.batch) != own);
        let runs_long =
            || others.any(|slot| live.get(slot.batch).is_some_and(|batch| batch.is_long(now)));
        Some(match group.course {
            GroupCourse::Changed { direction, .. } => match direction {
                Direction::Shorter => Self::ChangedShorter,
                Direction::Longer => Self::ChangedLonger,
            },
            GroupCourse::Surprised {
                direction: Direction::Longer,
                ..
            } => Self::Longer,
            _ if { runs_long }() => Self::Longer,
            GroupCourse::Unknown => return None,
            GroupCourse::Settled | GroupCourse::Surprised { .. } => Self::None,
        })
    }

    /// Returns whether the class has changed: one batch alone may be an exception.
    pub const fn is_change(self) -> bool {
        match self {
            Self::None | Self::Longer => false,
            Self::ChangedLonger | Self::ChangedShorter => true,
        }
    }

    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Longer => "longer",
            Self::ChangedLonger => "changed_longer",
            Self::ChangedShorter => "changed_shorter",
        }
    }

    /// Returns the place among the kinds of doubt; None without any.
    pub(crate) const fn place(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Longer => Some(0),
            Self::ChangedLonger => Some(1),
            Self::ChangedShorter => Some(2),
        }
    }
}

/// Formats the doubt as a clause about the last batches, with its consequence. Empty without any.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Longer => "the last took longer than expected, so the bounds are wider",
            Self::ChangedLonger => {
                "two in a row took longer than expected, so the bounds are wider"
            }
            Self::ChangedShorter => {
                "two in a row took less time than expected, so the bounds are wider"
            }
        })
    }
}

/// A class of jobs that does not run as believed any more, or does again.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassChange {
    /// The job whose end showed it: those of its class have the same user, program and requirements.
    pub job: BeliefJob,
    /// Its run time.
    pub runtime: Span,
    /// The bounds that its run time was believed to keep: nineteen in twenty take longer than the first, and as many less than
    /// the second. If the class has changed, they are those from before the first batch outside them.
    pub believed: [Span; 2],
    /// The doubt of now; no change if the last batches ran as believed.
    pub doubt: Doubt,
}
