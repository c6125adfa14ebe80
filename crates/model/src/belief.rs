//! The beliefs that policies ask for.

use serde::{Deserialize, Serialize};

use crate::{Distribution, NodeSpeed, Span};

/// Number of [`CORRELATIONS`].
pub const N_CORRELATIONS: usize = 8;

/// The correlations that the run times of the tasks of a batch may have, given what is believed of each.
pub const CORRELATIONS: [f64; N_CORRELATIONS] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.995];

/// The jobs with which a job is long or short together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kinship {
    /// The number of its batch: equal for jobs that were submitted together.
    pub batch: u64,
    /// The number of its class: equal for jobs of one user that are alike, in whatever batch.
    pub class: u64,
    /// How probable each of [`CORRELATIONS`] is within the batch. The sum is 1.
    pub correlations: [f32; N_CORRELATIONS],
}

/// The knowledge of a policy about the run time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeBelief {
    /// The distribution of the run time.
    pub distribution: Distribution,
    /// The jobs with which it is long or short together; None if they are unknown.
    pub kinship: Option<Kinship>,
}

impl RuntimeBelief {
    /// Returns the belief about the run time on a node of this speed, from that on the reference node.
    #[must_use]
    pub fn at_speed(&self, speed: NodeSpeed) -> Self {
        Self {
            distribution: self.distribution.at_speed(speed),
            ..*self
        }
    }

    /// Returns the belief about a job that is ended at a limit.
    #[must_use]
    pub fn ended_at(&self, limit: Span) -> Self {
        Self {
            distribution: self.distribution.ended_at(limit),
            ..*self
        }
    }
}

impl From<Distribution> for RuntimeBelief {
    fn from(distribution: Distribution) -> Self {
        Self {
            distribution,
            kinship: None,
        }
    }
}
