//! The result of a replay, or the reason why there is none.

use std::collections::BTreeMap;

use tollgate_forecast::JobKin;
use tollgate_gate::InvariantViolation;
use tollgate_model::{Instant, NodeRange, Outcome, Probability};
use tollgate_policy::{JobSlot, PolicyFailure};

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayResult {
    /// One outcome per job, in the order of arrival.
    pub outcomes: Vec<Outcome>,
    /// The placement of each job, if recorded.
    pub placements: Option<JobPlacements>,
    /// The statements on promised deadlines, in the order of the promises. Empty if not requested.
    pub promises: Vec<PromiseStatement>,
    /// The jobs with which each job that ran counted in beliefs, by place in the order of arrival. Empty if
    /// placements are not recorded, or the policy has no beliefs.
    pub kin: BTreeMap<usize, JobKin>,
}

/// The probability with which a deadline was promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromiseStatement {
    /// The job's place in the order of arrival.
    pub job: usize,
    /// The probability that was stated when the promise was made, never 0 or 1.
    pub probability: Probability,
    /// The probability by beliefs and futures alone, before it was corrected by what had become of earlier promises.
    pub raw_probability: Probability,
    /// False if nothing was known of the job's user at its submission.
    pub is_known: bool,
}

/// The reason why a replay has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayFailure {
    /// The schedule is impossible.
    #[error("the schedule is impossible: {0}")]
    Violation(#[from] InvariantViolation),
    /// The policy could decide no longer.
    #[error(transparent)]
    Policy(#[from] PolicyFailure),
    /// Nothing runs and nothing arrives any more, and the policy has decided on some job neither
    /// way.
    #[error("job {job} waits forever: the policy neither started nor rejected it")]
    Undecided {
        /// The first such job, in the order of arrival from 0.
        job: usize,
    },
    /// The replay was stopped from outside.
    #[error("stopped before the last job ended")]
    Stopped,
}

impl ReplayFailure {
    /// Returns the next thing to try.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Violation(_) => {
                "this is a bug in tollgate; please report it with the command and the input"
            }
            Self::Policy(_) => {
                "docs/write/policy.md, \"A policy in any language\", says what a program reads and answers"
            }
            Self::Undecided { .. } => {
                "a policy starts or rejects every job before the end of the run"
            }
            Self::Stopped => "the replay was interrupted; run it again",
        }
    }
}

/// The placement of each job: node ranges in ascending order, empty for a job that never ran.
/// Includes the last reservation of each job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobPlacements {
    ranges: Vec<NodeRange>,
    spans: Vec<(u32, u32)>,
    reserved: Vec<Option<Instant>>,
}

impl JobPlacements {
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            ranges: Vec::new(),
            spans: vec![(0, 0); jobs],
            reserved: vec![None; jobs],
        }
    }

    pub(super) fn set(&mut self, index: usize, job: &JobSlot) {
        let from = self.ranges.len() as u32;
        self.ranges.extend_from_slice(job.placement());
        self.spans[index] = (from, self.ranges.len() as u32);
        self.reserved[index] = job.planned;
    }

    /// Returns the start for which processors were last reserved for the `job`-th job, if ever.
    pub fn reserved(&self, job: usize) -> Option<Instant> {
        self.reserved[job]
    }

    /// Returns the nodes of the `job`-th job.
    pub fn of(&self, job: usize) -> &[NodeRange] {
        let (from, to) = self.spans[job];
        &self.ranges[from as usize..to as usize]
    }
}
