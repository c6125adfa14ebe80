//! How fast the tasks of an array follow each other.

use serde::{Deserialize, Serialize};
use tollgate_model::Span;

/// Maximum number of tasks that follow each other on a node: they bridge two decisions.
pub(crate) const MAX_FOLLOWERS: usize = 32;

/// The time for which followers are to keep a node busy.
pub(crate) const HORIZON: Span = Span::from_micros(100_000);

/// Run time of a task besides the run time of its program, about.
pub(crate) const START_COST: Span = Span::from_micros(1_000);

/// Mean run time from which on a start takes hardly any of the time.
pub(crate) const MAX_MEAN: Span = Span::from_micros(50_000);

/// Number of ends after which the mean run time of an array's tasks is known.
pub(crate) const MIN_ENDS: u32 = 4;

/// The weight of the latest run time in the mean is one in this number.
pub(crate) const MEAN_OF: i64 = 4;

/// How long the tasks of an array run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskPace {
    pub(crate) n_ends: u32,
    pub(crate) mean: Span,
}

impl TaskPace {
    pub(crate) fn count(&mut self, wall: Span) {
        let change = (wall.as_micros() - self.mean.as_micros()) / MEAN_OF;
        self.mean = match self.n_ends {
            0 => wall,
            _ => self.mean + Span::from_micros(change),
        };
        self.n_ends = self.n_ends.saturating_add(1);
    }

    /// Returns the number of followers that keep a node busy.
    pub(crate) fn n_followers(self) -> usize {
        if self.n_ends < MIN_ENDS || self.mean > MAX_MEAN {
            return 0;
        }
        let each = (self.mean + START_COST).as_micros();
        usize::try_from(HORIZON.as_micros() / each).map_or(MAX_FOLLOWERS, |n| n.min(MAX_FOLLOWERS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tasks_are_followed_by_many_and_long_tasks_by_none() {
        let pace = |walls: &[i64]| {
            let mut pace = TaskPace::default();
            walls
                .iter()
                .for_each(|&wall| pace.count(Span::from_micros(wall * 1_000)));
            pace.n_followers()
        };
        assert_eq!(pace(&[1, 1, 1]), 0);
        assert_eq!(pace(&[1, 1, 1, 1]), MAX_FOLLOWERS);
        assert_eq!(pace(&[19; 8]), 5);
        assert_eq!(pace(&[60; 8]), 0);
        assert_eq!(pace(&[1, 1, 1, 1, 1_000]), 0);
    }
}
