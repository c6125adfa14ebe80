//! The capacity of a machine, from its use.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

/// Number of days for which a largest use counts.
const DAYS: i64 = 60;

/// The largest use of a machine in the last days. Headers of records name fewer processors than were in use at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RollingCapacity {
    /// Days with the largest use on each. The uses descend, so the first one is the largest.
    days: VecDeque<(i64, u64)>,
}

impl RollingCapacity {
    /// Learns the number of processors in use from now on.
    pub(super) fn note(&mut self, now: Instant, in_use: u64) {
        let day = day_of(now);
        while self.days.front().is_some_and(|(old, _)| *old < day - DAYS) {
            self.days.pop_front();
        }
        while self
            .days
            .back()
            .is_some_and(|(_, use_then)| *use_then <= in_use)
        {
            self.days.pop_back();
        }
        if self.days.back().is_none_or(|(last, _)| *last < day) {
            self.days.push_back((day, in_use));
        }
    }

    /// Returns the largest use, at least 1.
    pub(super) fn procs(&self) -> u64 {
        self.days.front().map_or(1, |(_, in_use)| (*in_use).max(1))
    }
}

/// Returns the number of the day of an instant.
pub(super) fn day_of(at: Instant) -> i64 {
    at.as_micros().div_euclid(86_400_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(n: i64) -> Instant {
        Instant::from_secs(n * 86_400)
    }

    #[test]
    fn largest_use_counts_for_sixty_days() {
        let mut capacity = RollingCapacity::default();
        assert_eq!(capacity.procs(), 1);
        capacity.note(day(0), 100);
        capacity.note(day(0), 40);
        capacity.note(day(5), 60);
        assert_eq!(capacity.procs(), 100);
        capacity.note(day(60), 10);
        assert_eq!(capacity.procs(), 100);
        capacity.note(day(61), 20);
        assert_eq!(capacity.procs(), 60);
        capacity.note(day(66), 20);
        assert_eq!(capacity.procs(), 20);
    }
}
