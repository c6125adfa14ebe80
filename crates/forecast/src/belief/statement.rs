//! Statements about tasks, kept until the run time of each shows how good it was.

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Instant, Span, TaskId};

use super::mixture::Lesson;

/// The place of the median among the levels.
pub(crate) const MEDIAN: usize = 5;

/// The occasion of a statement. Siblings that ended say something else about a job that its user has just
/// submitted than about one that has waited for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Occasion {
    /// The submission of the job.
    Submission,
    /// Any later instant.
    Later,
}

/// A statement that waits for the end of its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) bucket: usize,
    /// The raw quantiles, as logarithms.
    pub(crate) quantiles: [f64; N_LEVELS],
    pub(crate) weight: f64,
    pub(crate) lessons: Vec<Lesson>,
    /// Number of intervals between quantiles that the run time is known to have passed or not.
    pub(crate) n_judged: usize,
}

impl Statement {
    /// Returns the run time at which the next quantile is passed.
    pub(crate) fn next_quantile(&self) -> Option<Span> {
        let next = self.quantiles.get(self.n_judged)?;
        Some(Span::from_secs_f64(next.exp()) + Span::TICK)
    }

    pub(crate) fn median(&self) -> Span {
        Span::from_secs_f64(self.quantiles[MEDIAN].exp())
    }
}

/// Something that a model does once time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Due {
    /// A running task passes the next quantile of its statement.
    Quantile(TaskId, Occasion),
    /// A statement teaches: its task has ended, and would have passed its median.
    Lesson(TaskId, Occasion),
}

/// An instant and what is due.
pub(crate) type DueAt = (Instant, Due);
