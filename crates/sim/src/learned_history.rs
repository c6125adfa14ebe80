//! What is known about run times before a run.

use tollgate_forecast::belief::BeliefModel;
use tollgate_forecast::{CompletedJob, FeedbackTiming, Forecaster, OnlineForecaster};
use tollgate_model::UserId;

/// The experience with earlier jobs, from which estimates and beliefs are made. Empty by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedHistory {
    pub(crate) forecaster: Forecaster,
    pub(crate) beliefs: BeliefModel,
}

impl LearnedHistory {
    /// Creates the experience with these jobs: as a site would have had it that forecast each at its
    /// submission, and learned from it at its end. Jobs that never ran teach nothing.
    pub fn of(mut jobs: Vec<(UserId, CompletedJob)>) -> Self {
        // A stable sort: jobs submitted together are learned in the order of the record.
        jobs.sort_by_key(|(_, job)| job.submit);
        let mut online = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
        for (_, job) in &jobs {
            // A job that never ran is neither forecast nor learned.
            let _ = online.submit(job, |_| ());
        }
        let forecaster = online.finish(|_| ());
        jobs.sort_by_key(|(_, job)| job.finish);
        let mut beliefs = BeliefModel::default();
        for (user, ended) in &jobs {
            beliefs.learn(*user, &ended.job, ended.runtime);
        }
        Self {
            forecaster,
            beliefs,
        }
    }
}
