//! Observations of a queue.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

use crate::job::{SeenJob, SeenJobKey};

/// The changes of a queue that were seen at an instant. A record of a queue is a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueObservation {
    /// The instant of the question, in the time of the batch system.
    pub at: Instant,
    /// The jobs that are visible.
    pub sight: QueueSight,
    /// The jobs that are new or have changed, with those from the records of ended jobs.
    pub jobs: Vec<SeenJob>,
    /// The jobs that were in the queue before and of which nothing is known any more.
    pub gone: Vec<SeenJobKey>,
    /// The jobs that have left the queue, and whose records are still to come. They hold no processors any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<SeenJobKey>,
}

/// The jobs of a queue that are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueSight {
    /// The jobs of all users.
    AllJobs,
    /// The jobs of one user alone: the site hides those of others.
    OwnJobs,
}
