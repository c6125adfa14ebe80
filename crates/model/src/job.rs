//! The job that a user submits.

use serde::{Deserialize, Serialize};

use crate::{
    Bytes, Credits, CreditsPerSecond, Instant, Otherwise, PlacementNeeds, Probability, Span,
};

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

    /// Returns the same job with `memory` in all, spread evenly over its processors. A node has `node_memory`, None if
    /// unknown. A job that needs more memory than its processors come with gets as many processors as that memory comes
    /// with.
    ///
    /// ```
    /// use tollgate_model::{Bytes, Instant, JobSpec, Sla, Span, UserId};
    ///
    /// let job = JobSpec {
    ///     submit: Instant::ZERO,
    ///     estimate: Span::from_secs(60),
    ///     procs: 2,
    ///     memory: 0,
    ///     needs: Default::default(),
    ///     restarts: 0,
    ///     user: UserId(0),
    ///     sla: Sla::default(),
    /// };
    /// let on_nodes_of = |node| {
    ///     let spread = job.with_memory(Bytes::new(10), node);
    ///     (spread.procs, spread.memory)
    /// };
    /// assert_eq!(on_nodes_of(Some(Bytes::new(5))), (2, 5));
    /// assert_eq!(on_nodes_of(Some(Bytes::new(4))), (3, 4));
    /// assert_eq!(on_nodes_of(None), (2, 5));
    /// ```
    #[must_use]
    pub fn with_memory(self, memory: Bytes, node_memory: Option<Bytes>) -> Self {
        let memory = memory.as_u64();
        let filled = node_memory.map_or(0, |node| memory.div_ceil(node.as_u64().max(1)));
        let procs = self.procs.max(u32::try_from(filled).unwrap_or(u32::MAX));
        Self {
            procs,
            memory: memory.div_ceil(u64::from(procs.max(1))),
            ..self
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn job(procs: u32) -> JobSpec {
        JobSpec {
            submit: Instant::ZERO,
            estimate: Span::from_secs(60),
            procs,
            memory: 0,
            needs: PlacementNeeds::default(),
            restarts: 0,
            user: UserId(0),
            sla: Sla::default(),
        }
    }

    #[test]
    fn job_gets_the_fewest_processors_that_hold_its_memory() {
        for (procs, memory, node) in
            (1..5).flat_map(|p| (0..40).flat_map(move |m| (1..10).map(move |n| (p, m, n))))
        {
            let node_memory = Some(Bytes::new(node));
            let spread = job(procs).with_memory(Bytes::new(memory), node_memory);
            let width = u64::from(spread.procs);
            assert!(spread.memory <= node && spread.memory * width >= memory);
            assert!(spread.procs == procs || (width - 1) * node < memory);
        }
    }

    #[test]
    fn job_with_more_memory_than_any_machine_fits_none() {
        let huge = job(2).with_memory(Bytes::new(u64::MAX), Some(Bytes::new(1)));
        assert_eq!(huge.procs, u32::MAX);
    }
}
