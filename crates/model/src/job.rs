//! What a user hands in.

use serde::{Deserialize, Serialize};

use crate::{Credits, CreditsPerSecond, Instant, Span};

/// The slot of a job that is queued or runs. Dense and recycled once a job is over, so it is
/// no name for users and no order: drivers keep a public number beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

impl JobId {
    /// The slot as an index into columns.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A job as a policy sees it: everything a real scheduler knows at submission, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// When it was handed in.
    pub submit: Instant,
    /// What the user says it will take on each of its nodes. Positive.
    pub estimate: Span,
    /// Processors it needs at once. At least 1.
    pub procs: u32,
    /// Bytes of memory that it takes on each of its nodes; 0 where nothing is said.
    pub memory: u64,
    /// What the user wants promised.
    pub sla: Sla,
}

impl JobSpec {
    /// The instant by which it must have finished, if it has a deadline.
    pub fn due(&self) -> Option<Instant> {
        self.sla.deadline.map(|deadline| self.submit + deadline)
    }
}

/// A service level agreement: by when, for how much, and what lateness costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sla {
    /// Span after submission by which the job must have finished; without one nothing is
    /// promised. Positive.
    pub deadline: Option<Span>,
    /// The most the user pays, if there is a limit. Not negative.
    pub budget: Option<Credits>,
    /// What the provider loses for each second past the deadline. Not negative.
    pub penalty: CreditsPerSecond,
}
