//! Statements with their instants.

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{N_WAIT_LEVELS, SpanBounds, WaitStatement};
use tollgate_model::{Instant, Span};

use crate::job::SeenJobKey;

/// A statement about a job, as it was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobStatement {
    /// The job.
    pub key: SeenJobKey,
    /// The instant of the statement.
    pub at: Instant,
    /// The number of the statement about this job: 0 at its submission, then with its age.
    pub nth: usize,
    /// The origin of the bounds: `forest`, `class` or `site`.
    pub basis: &'static str,
    /// The instants by which the job starts, by level.
    pub starts_by: StatedBounds,
    /// The instants by which the job ends, by level. None if too little is known.
    pub ends_by: Option<StatedBounds>,
}

/// An instant for each level of [`WAIT_LEVELS`](tollgate_forecast::wait::WAIT_LEVELS), ascending.
pub type StatedBounds = [Instant; N_WAIT_LEVELS];

impl JobStatement {
    pub(crate) fn new(key: SeenJobKey, nth: usize, stated: &WaitStatement) -> Self {
        Self {
            key,
            at: stated.at,
            nth,
            basis: stated.wait.basis.key(),
            starts_by: instants(stated.at, &stated.wait),
            ends_by: stated.end.as_ref().map(|end| instants(stated.at, end)),
        }
    }
}

/// Returns the instants of bounds that count from `at`.
pub(crate) fn instants(at: Instant, bounds: &SpanBounds) -> StatedBounds {
    bounds.bounds.map(|bound: Span| at + bound)
}

/// Returns at which levels `actual` keeps a bound.
pub(crate) fn kept(due: &StatedBounds, actual: Instant) -> [bool; N_WAIT_LEVELS] {
    due.map(|due| actual <= due)
}

/// The bounds of a statement that is not judged yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenBounds {
    pub(crate) nth: u32,
    pub(crate) is_forest: bool,
    pub(crate) due: StatedBounds,
    /// Number of bounds that were exceeded so far.
    pub(crate) n_broken: usize,
}
