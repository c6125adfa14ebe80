//! The knowledge about run times from earlier jobs.

use serde::{Deserialize, Serialize};
use tollgate_model::UserId;

use crate::belief::{BeliefJob, BeliefModel};
use crate::record::CompletedJob;
use crate::recorded_beliefs::learn_beliefs;

/// The experience with earlier jobs, from which estimates and beliefs are made. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedHistory {
    /// The beliefs by batches.
    pub beliefs: BeliefModel,
}

impl LearnedHistory {
    /// Creates the experience with these jobs: as a site would have had it that forecast each at its
    /// submission, and learned from it at its end. Jobs that never ran teach nothing.
    pub fn of(mut jobs: Vec<(UserId, CompletedJob)>) -> Self {
        // A stable sort: jobs submitted together are learned in the order of the record.
        jobs.sort_by_key(|(_, job)| job.submit);
        let mut beliefs = BeliefModel::default();
        let jobs: Vec<(BeliefJob, CompletedJob)> = jobs
            .iter()
            .map(|(user, job)| (BeliefJob::new(*user, &job.job), *job))
            .collect();
        learn_beliefs(&mut beliefs, &jobs);
        Self { beliefs }
    }
}
