//! The job that a user submits.

use serde::{Deserialize, Serialize};

use crate::{Credits, CreditsPerSecond, Instant, Otherwise, PlacementNeeds, Probability, Span};

/// The slot of a queued or running job. Slots are dense and are recycled once a job has finished,
/// so a slot is neither a name for users nor an order: drivers keep a public number beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

impl JobId {
    /// Returns the slot as an index into columns.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A user, as a number that the world assigns: two jobs are one user's if the numbers are equal.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct UserId(pub u32);

/// A job as a policy sees it: all that a real scheduler knows at submission, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Time of submission.
    pub submit: Instant,
    /// The user's run time estimate on the slowest node of the machine. Positive.
    pub estimate: Span,
    /// Number of processors that the job needs at once. At least 1.
    pub procs: u32,
    /// Memory that the job takes on each of its nodes, in bytes; 0 if not specified.
    pub memory: u64,
    /// Its needs of the place where it runs.
    pub needs: PlacementNeeds,
    /// Number of times that it starts anew after it had to give way to a user of its computer; [`u8::MAX`] without a
    /// limit.
    pub restarts: u8,
    /// The user who submitted the job.
    pub user: UserId,
    /// The service level that the user asks for.
    pub sla: Sla,
}

impl JobSpec {
    /// Returns the instant by which the job must have finished, or None without a deadline.
    pub fn due(&self) -> Option<Instant> {
        self.sla.deadline.map(|deadline| self.submit + deadline)
    }
}

/// A service level agreement: deadline, budget and penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sla {
    /// Span after submission by which the job must have finished. Positive. None if the job has no
    /// deadline; then nothing is promised.
    pub deadline: Option<Span>,
    /// The maximum that the user pays. Not negative. None if there is no limit.
    pub budget: Option<Credits>,
    /// The provider's loss for each second past the deadline. Not negative.
    pub penalty: CreditsPerSecond,
    /// The probability with which the deadline has to be kept, at least. None if what the policy
    /// promises by itself is enough. Below the policy's level, it is the level of this promise.
    pub confidence: Option<Probability>,
    /// The treatment of the job if its deadline cannot be promised. None if the policy decides.
    pub otherwise: Option<Otherwise>,
    /// Whether the job, while it has no promise, is cancelled once it could hardly end in time if it started
    /// then.
    pub drop_late: bool,
}
