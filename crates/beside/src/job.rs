//! Jobs as a batch system shows them.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// The name of a job at its batch system: `1234`, or `1234_5` for a task of an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeenJobKey(pub String);

impl fmt::Display for SeenJobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A job as its batch system shows it at one instant. All instants are in the time of the batch system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenJob {
    /// The name of the job.
    pub key: SeenJobKey,
    /// The user.
    pub user: String,
    /// The queue or partition. Empty if the batch system has none. The first one of several.
    pub queue: String,
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The time limit. None if the job has none.
    pub limit: Option<Span>,
    /// The submission.
    pub submitted: Instant,
    /// The instant from which the job may start, as holds and dependencies allow. None if that is not known yet.
    pub eligible: Option<Instant>,
    /// The start. None before it, and if the job was cancelled while it waited.
    pub started: Option<Instant>,
    /// The end. None before it.
    pub ended: Option<Instant>,
    /// The phase of the job.
    pub phase: SeenPhase,
    /// The reason why the job waits, in the words of the batch system. Empty if the batch system gives none.
    pub reason: String,
}

/// The phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SeenPhase {
    /// The job is held or depends on something: it may not start yet.
    Held,
    /// The job may start, and waits.
    Waits,
    /// The job has started.
    Runs,
    /// The job has ended, or was cancelled.
    Over,
}

impl SeenJob {
    /// Returns the instant from which the wait counts: the submission, or the end of a hold if that is later. None while
    /// the job may not start.
    pub fn queued(&self) -> Option<Instant> {
        let known = match (self.phase, self.eligible, self.started) {
            (_, Some(eligible), _) => self.submitted.max(eligible),
            (SeenPhase::Held, None, _) => return None,
            (SeenPhase::Waits | SeenPhase::Runs | SeenPhase::Over, None, _) => self.submitted,
        };
        // A start before the stated end of a hold: the batch system has changed its mind.
        Some(self.started.map_or(known, |started| known.min(started)))
    }
}
