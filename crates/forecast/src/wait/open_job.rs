//! The statements about a job that are not judged yet.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use super::features::FeatureRow;
use super::job::WaitJob;
use super::statement::{N_WAIT_LEVELS, SpanBounds};

/// A job that waits or runs, with the statements about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenJob {
    pub(super) job: WaitJob,
    pub(super) queued: Instant,
    /// The statements about the start: the first one at submission, each later one at an age.
    pub(super) waits: Vec<OpenStatement>,
    /// The statement about the end, at submission.
    pub(super) end: OpenStatement,
    /// The later statements about the end, one for each later statement about the start.
    pub(super) later_ends: Vec<OpenStatement>,
}

/// A statement that is not judged yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenStatement {
    pub(super) at: Instant,
    pub(super) row: FeatureRow,
    /// None if no bounds were stated, or none that are judged.
    pub(super) judged: Option<JudgedBounds>,
}

/// Bounds that offsets learn from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JudgedBounds {
    pub(super) group: usize,
    /// The instants at which the bounds are broken, ascending.
    pub(super) due: [Instant; N_WAIT_LEVELS],
    /// The number of bounds that are broken already.
    pub(super) n_broken: usize,
}

impl JudgedBounds {
    pub(super) fn new(at: Instant, group: usize, stated: &SpanBounds) -> Self {
        Self {
            group,
            due: stated.bounds.map(|bound| at + bound),
            n_broken: 0,
        }
    }

    /// Returns the instant after which the next bound is broken.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.get(self.n_broken).copied()
    }
}

/// A statement of an open job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum StatementPlace {
    /// The statement about the start with this index.
    Wait(u32),
    /// The statement about the end at submission.
    End,
    /// The later statement about the end with this index.
    LaterEnd(u32),
}

impl OpenJob {
    pub(super) fn statement_mut(&mut self, place: StatementPlace) -> Option<&mut OpenStatement> {
        match place {
            StatementPlace::Wait(idx) => self.waits.get_mut(idx as usize),
            StatementPlace::End => Some(&mut self.end),
            StatementPlace::LaterEnd(idx) => self.later_ends.get_mut(idx as usize),
        }
    }
}

/// Returns the age at which the statement with index `nth` is made: submission, ten minutes, an hour, six
/// hours, and each day.
pub fn statement_age(nth: usize) -> Span {
    let hours = |hours| Span::from_secs(hours * 3_600);
    match nth {
        0 => Span::ZERO,
        1 => Span::from_secs(600),
        2 => hours(1),
        3 => hours(6),
        days => hours(24 * (days as i64 - 3)),
    }
}
