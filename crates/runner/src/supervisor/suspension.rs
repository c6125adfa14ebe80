//! The suspensions of an attempt, in which its time limit stands still.

use std::time::Duration;

use tollgate_engine::BootTime;
use tollgate_model::{AttemptId, Span};

use super::timers::TimerKind;
use crate::journal::RunnerJournalEntry;

/// The suspensions of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Suspension {
    /// The begin of the present suspension; None if the attempt is not suspended.
    since: Option<BootTime>,
    /// The time of the suspensions before.
    before: Duration,
    /// The timers of the suspended attempt, with the time that each has left.
    pub(super) timers: Vec<(Duration, TimerKind)>,
}

impl Suspension {
    pub(crate) const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// Begins a suspension, or begins it again: at the start of an attempt that was suspended before.
    pub(crate) const fn begin(&mut self, now: BootTime) {
        self.since = Some(now);
    }

    /// Ends the suspension. Returns false if the attempt is not suspended.
    pub(crate) fn end(&mut self, now: BootTime) -> bool {
        self.before = self.total(now);
        self.since.take().is_some()
    }

    /// Returns the journal entries for the next runner.
    pub(super) fn journal_entries(&self, attempt: AttemptId) -> Vec<RunnerJournalEntry> {
        let suspended = |at: BootTime| RunnerJournalEntry::Suspended {
            attempt,
            at_micros: at.as_micros(),
        };
        let resumed = |at: BootTime| RunnerJournalEntry::Resumed {
            attempt,
            at_micros: at.as_micros(),
        };
        let mut entries = Vec::new();
        if !self.before.is_zero() {
            // Only the length counts.
            let boot = BootTime::default();
            entries.extend([suspended(boot), resumed(boot + self.before)]);
        }
        entries.extend(self.since.map(suspended));
        entries
    }

    /// Returns the time for which the attempt was suspended.
    pub(crate) fn total(&self, now: BootTime) -> Duration {
        let present = self.since.map(|since| now.saturating_since(since));
        self.before + present.unwrap_or_default()
    }
}

/// Returns the suspended time as a span of the model.
pub(crate) fn as_span(time: Duration) -> Span {
    i64::try_from(time.as_micros()).map_or(Span::MAX, Span::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> BootTime {
        BootTime::after_boot(Duration::from_secs(secs))
    }

    #[test]
    fn suspended_time_is_the_sum_of_all_suspensions() {
        let mut suspension = Suspension::default();
        assert!(!suspension.end(at(5)), "it was not suspended");
        suspension.begin(at(10));
        // The attempt starts now.
        suspension.begin(at(12));
        assert_eq!(suspension.total(at(15)), Duration::from_secs(3));
        assert!(suspension.end(at(16)));
        assert_eq!(suspension.total(at(99)), Duration::from_secs(4));
        suspension.begin(at(100));
        assert_eq!(suspension.total(at(101)), Duration::from_secs(5));
    }

    #[test]
    fn journal_entries_describe_the_same_suspensions() {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        let mut suspension = Suspension::default();
        suspension.begin(at(10));
        suspension.end(at(14));
        suspension.begin(at(20));
        let launch = tollgate_engine::LaunchSpec::new(attempt, Vec::new(), ["true"], "/");
        let mut entries = vec![RunnerJournalEntry::Taken(Box::new(launch))];
        entries.extend(suspension.journal_entries(attempt));
        let tasks = crate::recovery::rebuild_tasks(&entries);
        let rebuilt = &tasks[&attempt].suspension;
        assert!(rebuilt.is_on());
        assert_eq!(rebuilt.total(at(21)), suspension.total(at(21)));
    }
}
