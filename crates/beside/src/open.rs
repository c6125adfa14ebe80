//! The statements that are not judged yet.

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{JobWidth, WAIT_LEVELS, WaitJob};
use tollgate_model::Instant;

use crate::calibration::{StatedQuantity, StatementOutcome};
use crate::job::SeenJobKey;
use crate::statement::{OpenBounds, kept};

/// A job of the queue that is followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FollowedJob {
    /// The number of the job in the forecaster. None while the job may not start.
    pub(crate) number: Option<u64>,
    pub(crate) facts: WaitJob,
    pub(crate) submitted: Instant,
    pub(crate) queued: Option<Instant>,
    pub(crate) started: Option<Instant>,
    pub(crate) is_held: bool,
    /// The instant at which the job was seen held last.
    pub(crate) held_at: Option<Instant>,
    pub(crate) reason: String,
    /// The open statements about the start.
    pub(crate) starts: Vec<OpenBounds>,
    /// The open statements about the end.
    pub(crate) ends: Vec<OpenBounds>,
}

impl FollowedJob {
    /// Returns an open statement.
    pub(crate) fn statement_mut(&mut self, place: StatementPlace) -> Option<&mut OpenBounds> {
        let statements = match place.is_end {
            true => &mut self.ends,
            false => &mut self.starts,
        };
        statements.get_mut(place.idx as usize)
    }

    /// Judges the statements about the start.
    pub(crate) fn judge_starts(&mut self, start: Instant) -> Vec<StatementOutcome> {
        let open = std::mem::take(&mut self.starts);
        let quantity = |nth: u32| match nth {
            0 => StatedQuantity::StartAtSubmission,
            _ => StatedQuantity::StartLater,
        };
        let judge = |bounds: &OpenBounds| self.outcome(quantity(bounds.nth), bounds, start);
        open.iter().map(judge).collect()
    }

    /// Judges the statements about the end.
    pub(crate) fn judge_ends(&mut self, end: Instant) -> Vec<StatementOutcome> {
        let open = std::mem::take(&mut self.ends);
        let judge = |bounds: &OpenBounds| self.outcome(StatedQuantity::End, bounds, end);
        open.iter().map(judge).collect()
    }

    /// Returns whether the job waits beyond the highest bound of a statement.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let highest = WAIT_LEVELS.len() - 1;
        self.starts.iter().any(|bounds| bounds.due[highest] < now)
    }

    fn outcome(
        &self,
        quantity: StatedQuantity,
        bounds: &OpenBounds,
        actual: Instant,
    ) -> StatementOutcome {
        StatementOutcome {
            quantity,
            at: actual,
            queue: self.facts.queue,
            width: JobWidth::of_procs(self.facts.procs),
            is_forest: bounds.is_forest,
            kept: kept(&bounds.due, actual),
        }
    }
}

/// The place of an open statement of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StatementPlace {
    pub(crate) is_end: bool,
    pub(crate) idx: u32,
}

/// Returns an order of jobs that names decide last: numbers before the letters of their digits.
pub(crate) fn key_order(key: &SeenJobKey) -> (usize, &str) {
    (key.0.len(), &key.0)
}
