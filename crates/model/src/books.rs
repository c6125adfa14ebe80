//! The books of a provider: what became of each submitted job and of its promise.
//!
//! A live service and a replay count the same entries with the same type, so their figures mean the same.

use serde::{Deserialize, Serialize};

use crate::outcome::DELAY_TOLERANCE;
use crate::{Instant, Span};

/// The cause of a broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BreakCause {
    /// The job started early enough for the run time that was planned for it, and ran longer.
    OwnRun,
    /// The job did not start early enough: other jobs ran longer than planned.
    Others,
    /// The site ended the job, lost it, or was late to start it.
    Site,
    /// The job was evicted from a computer that others use. (A new cause goes at the end, because the index is stored.)
    Evicted,
}

impl BreakCause {
    /// All causes.
    pub const ALL: [Self; 4] = [Self::OwnRun, Self::Others, Self::Site, Self::Evicted];

    /// Returns the cause of a late end of a job that ran from `start` on, from the run time that was planned for it. A
    /// job that did not wait is late for itself, whatever was planned.
    pub fn of_run(submit: Instant, start: Instant, due: Instant, planned: Span) -> Self {
        match start <= submit || start + planned <= due + DELAY_TOLERANCE {
            true => Self::OwnRun,
            false => Self::Others,
        }
    }

    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::OwnRun => "own_run",
            Self::Others => "others",
            Self::Site => "site",
            Self::Evicted => "evicted",
        }
    }
}

/// The entry of a job, or of a task of an array, in the books. Each has one at most: jobs that never started because
/// their user cancelled them have none, unless their promise was broken before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BookEntry {
    /// The deadline was promised, and the job succeeded by then.
    Kept,
    /// The deadline was promised, and the job did not succeed by then for a reason that is not its user's.
    Broken(BreakCause),
    /// The deadline was promised, and before it the job failed by itself, reached a limit that its user set, or was
    /// cancelled while it ran.
    Void,
    /// The deadline was not promised, and the job succeeded by then all the same.
    UnpromisedInTime,
    /// The deadline was not promised, and the job ended after it or was lost.
    UnpromisedLate,
    /// The deadline was not promised, and the job was cancelled because it could hardly meet it any more.
    UnpromisedDropped,
    /// The deadline was not promised, and before it the job ended as a void promise does.
    UnpromisedVoid,
    /// The job had no deadline, and ran.
    NoDeadline,
    /// The job had a deadline and was rejected.
    Rejected,
    /// The job had no deadline and was rejected.
    NoDeadlineRejected,
}

impl BookEntry {
    /// Returns whether a promise was kept. None if it is void, or if there was none.
    pub const fn promise_kept(self) -> Option<bool> {
        match self {
            Self::Kept => Some(true),
            Self::Broken(_) => Some(false),
            Self::Void
            | Self::UnpromisedInTime
            | Self::UnpromisedLate
            | Self::UnpromisedDropped
            | Self::UnpromisedVoid
            | Self::NoDeadline
            | Self::Rejected
            | Self::NoDeadlineRejected => None,
        }
    }

    /// All entries.
    pub const ALL: [Self; 13] = [
        Self::Kept,
        Self::Broken(BreakCause::OwnRun),
        Self::Broken(BreakCause::Others),
        Self::Broken(BreakCause::Site),
        Self::Broken(BreakCause::Evicted),
        Self::Void,
        Self::UnpromisedInTime,
        Self::UnpromisedLate,
        Self::UnpromisedDropped,
        Self::UnpromisedVoid,
        Self::NoDeadline,
        Self::Rejected,
        Self::NoDeadlineRejected,
    ];

    /// Returns the entry of a rejected job.
    pub const fn of_rejected(has_deadline: bool) -> Self {
        match has_deadline {
            true => Self::Rejected,
            false => Self::NoDeadlineRejected,
        }
    }

    /// Returns the entry of a job whose deadline was not promised, from that which it would have with a promise.
    #[must_use]
    pub const fn without_promise(self) -> Self {
        match self {
            Self::Kept => Self::UnpromisedInTime,
            Self::Broken(_) => Self::UnpromisedLate,
            Self::Void => Self::UnpromisedVoid,
            Self::UnpromisedInTime
            | Self::UnpromisedLate
            | Self::UnpromisedDropped
            | Self::UnpromisedVoid
            | Self::NoDeadline
            | Self::Rejected
            | Self::NoDeadlineRejected => self,
        }
    }

    /// Returns whether the deadline was promised.
    pub const fn is_promised(self) -> bool {
        match self {
            Self::Kept | Self::Broken(_) | Self::Void => true,
            Self::UnpromisedInTime
            | Self::UnpromisedLate
            | Self::UnpromisedDropped
            | Self::UnpromisedVoid
            | Self::NoDeadline
            | Self::Rejected
            | Self::NoDeadlineRejected => false,
        }
    }

    /// Returns the key in the store. No other entry has it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken(BreakCause::OwnRun) => "broken_own_run",
            Self::Broken(BreakCause::Others) => "broken_others",
            Self::Broken(BreakCause::Site) => "broken_site",
            Self::Broken(BreakCause::Evicted) => "broken_evicted",
            Self::Void => "void",
            Self::UnpromisedInTime => "unpromised_in_time",
            Self::UnpromisedLate => "unpromised_late",
            Self::UnpromisedDropped => "unpromised_dropped",
            Self::UnpromisedVoid => "unpromised_void",
            Self::NoDeadline => "no_deadline",
            Self::Rejected => "rejected",
            Self::NoDeadlineRejected => "no_deadline_rejected",
        }
    }

    /// Returns the entry with a key; None if no entry has it.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entry| entry.key() == key)
    }

    fn place(self) -> usize {
        let is_it = |entry: &Self| *entry == self;
        Self::ALL.iter().position(is_it).expect("an entry of all")
    }
}

/// The numbers of jobs by their entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books([u64; BookEntry::ALL.len()]);

impl Books {
    /// Adds jobs with this entry, saturating.
    pub fn add(&mut self, entry: BookEntry, n_jobs: u64) {
        let count = &mut self.0[entry.place()];
        *count = count.saturating_add(n_jobs);
    }

    /// Returns the number of jobs with this entry.
    pub fn count(&self, entry: BookEntry) -> u64 {
        self.0[entry.place()]
    }

    fn sum(&self, counts: impl Fn(BookEntry) -> bool) -> u64 {
        let entries = BookEntry::ALL.into_iter().filter(|entry| counts(*entry));
        entries.fold(0, |sum, entry| sum.saturating_add(self.count(entry)))
    }

    /// Returns the number of all jobs: of those that ran, and of rejected ones.
    pub fn submitted(&self) -> u64 {
        self.sum(|_| true)
    }

    /// Returns the number of admitted jobs, with or without a promise.
    pub fn accepted(&self) -> u64 {
        self.submitted() - self.rejected()
    }

    /// Returns the number of rejected jobs.
    pub fn rejected(&self) -> u64 {
        self.count(BookEntry::Rejected) + self.count(BookEntry::NoDeadlineRejected)
    }

    /// Returns the number of admitted jobs without a deadline.
    pub fn no_deadline(&self) -> u64 {
        self.count(BookEntry::NoDeadline)
    }

    /// Returns the number of kept promises.
    pub fn kept(&self) -> u64 {
        self.count(BookEntry::Kept)
    }

    /// Returns the number of broken promises.
    pub fn broken(&self) -> u64 {
        self.sum(|entry| matches!(entry, BookEntry::Broken(_)))
    }

    /// Returns the number of void promises.
    pub fn void(&self) -> u64 {
        self.count(BookEntry::Void)
    }

    /// Returns the number of admitted jobs with a deadline that was not promised.
    pub fn unpromised(&self) -> u64 {
        self.with_deadline() - self.sum(BookEntry::is_promised) - self.count(BookEntry::Rejected)
    }

    /// Returns the number of jobs that succeeded by a deadline that was not promised.
    pub fn unpromised_in_time(&self) -> u64 {
        self.count(BookEntry::UnpromisedInTime)
    }

    /// Returns the number of submitted jobs with a deadline.
    pub fn with_deadline(&self) -> u64 {
        self.submitted() - self.no_deadline() - self.count(BookEntry::NoDeadlineRejected)
    }

    /// Returns kept promises in % of submitted jobs with a deadline (Yeo & Buyya 2008, eq. 2); None without such
    /// a job.
    pub fn sla_pct(&self) -> Option<f64> {
        pct(self.kept(), self.with_deadline())
    }

    /// Returns kept promises in % of kept and broken ones (Yeo & Buyya 2008, eq. 3, without void promises); None
    /// without such a promise.
    pub fn reliability_pct(&self) -> Option<f64> {
        pct(self.kept(), self.kept() + self.broken())
    }

    /// Returns the jobs that succeeded by their deadline, promised or not, in % of submitted jobs with a deadline;
    /// None without such a job.
    pub fn in_time_pct(&self) -> Option<f64> {
        pct(
            self.kept() + self.unpromised_in_time(),
            self.with_deadline(),
        )
    }
}

fn pct(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_key_of_its_own() {
        for entry in BookEntry::ALL {
            assert_eq!(BookEntry::from_key(entry.key()), Some(entry));
        }
        assert_eq!(BookEntry::from_key("unpromised"), None);
    }

    #[test]
    fn percentages_exclude_other_entries() {
        let mut books = Books::default();
        assert_eq!(
            (
                books.sla_pct(),
                books.reliability_pct(),
                books.in_time_pct()
            ),
            (None, None, None)
        );
        for (n, entry) in (1..).zip(BookEntry::ALL) {
            books.add(entry, n);
        }
        // Kept 1, broken 2 + 3 + 4 + 5, void 6, unpromised 7 + 8 + 9 + 10, rejected 12, without a deadline 11 + 13.
        assert_eq!((books.submitted(), books.with_deadline()), (91, 67));
        assert_eq!((books.accepted(), books.rejected()), (66, 25));
        assert_eq!((books.kept(), books.broken(), books.void()), (1, 14, 6));
        assert_eq!((books.unpromised(), books.unpromised_in_time()), (34, 7));
        assert_eq!(books.no_deadline(), 11);
        assert_eq!(books.sla_pct(), Some(1.0 / 67.0 * 100.0));
        assert_eq!(books.reliability_pct(), Some(1.0 / 15.0 * 100.0));
        assert_eq!(books.in_time_pct(), Some(8.0 / 67.0 * 100.0));
    }
}
