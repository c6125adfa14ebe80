//! When an attempt has to be asked or made to end.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::AttemptKey;

/// What is due for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Its time limit is reached.
    Limit,
    /// It was asked to end, and had time to.
    Force,
}

/// Pending ones, soonest first.
#[derive(Default)]
pub(super) struct Timers(BTreeSet<(Instant, AttemptKey, Due)>);

impl Timers {
    pub(super) fn set(&mut self, at: Instant, attempt: AttemptKey, due: Due) {
        self.0.insert((at, attempt, due));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, ..)| *at)
    }

    /// Takes what is due by `now`.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(AttemptKey, Due)> {
        let mut due = Vec::new();
        while let Some((at, attempt, what)) = self.0.pop_first() {
            if at > now {
                self.0.insert((at, attempt, what));
                break;
            }
            due.push((attempt, what));
        }
        due
    }
}
