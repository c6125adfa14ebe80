//! The times at which attempts must be asked to end, or killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use tollgate_model::AttemptId;

/// An action that is due for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// The time limit is near, and the attempt gets the signal that its user wants.
    Warning,
    /// The time limit is reached, and the attempt is asked to end.
    TimeLimit,
    /// The grace period after the request to end has passed, and the attempt is killed.
    Kill,
}

/// The pending timers, soonest first.
#[derive(Default)]
pub(crate) struct AttemptTimers {
    pending: BTreeSet<(Instant, AttemptId, TimerKind)>,
    of_attempts: BTreeMap<AttemptId, Vec<(Instant, TimerKind)>>,
}

impl AttemptTimers {
    pub(crate) fn set(&mut self, at: Instant, attempt: AttemptId, due: TimerKind) {
        self.pending.insert((at, attempt, due));
        self.of_attempts.entry(attempt).or_default().push((at, due));
    }

    /// Removes the timers of an attempt, and returns those that were not due.
    pub(crate) fn take(&mut self, attempt: AttemptId) -> Vec<(Instant, TimerKind)> {
        let mut timers = self.of_attempts.remove(&attempt).unwrap_or_default();
        timers.retain(|(at, due)| self.pending.remove(&(*at, attempt, *due)));
        timers
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.pending.first().map(|(at, ..)| *at)
    }

    /// Removes and returns the timers that are due by `now`.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<(AttemptId, TimerKind)> {
        let mut due = Vec::new();
        while let Some((_, attempt, what)) = self.pending.first().filter(|(at, ..)| *at <= now) {
            due.push((*attempt, *what));
            self.pending.pop_first();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn cleared_timers_do_not_fire() {
        let key = |job| AttemptId {
            job,
            task: 0,
            attempt: 1,
        };
        let start = Instant::now();
        let after = |secs| start + Duration::from_secs(secs);
        let mut timers = AttemptTimers::default();
        timers.set(after(2), key(1), TimerKind::TimeLimit);
        timers.set(after(1), key(2), TimerKind::TimeLimit);
        timers.set(after(3), key(2), TimerKind::Kill);
        timers.set(after(9), key(3), TimerKind::TimeLimit);
        assert_eq!(timers.next(), Some(after(1)));
        assert_eq!(timers.due(after(1)), [(key(2), TimerKind::TimeLimit)]);
        assert_eq!(timers.take(key(2)), [(after(3), TimerKind::Kill)]);
        assert_eq!(timers.due(after(5)), [(key(1), TimerKind::TimeLimit)]);
        assert_eq!(timers.next(), Some(after(9)));
    }
}
