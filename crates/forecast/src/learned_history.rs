//! What is known about run times: the forecaster of classes, and the beliefs by batches.

use serde::{Deserialize, Serialize};
use tollgate_model::{BeliefSource, UserId};

use crate::belief::{Belief, BeliefJob, BeliefModel};
use crate::forecaster::{Forecast, Forecaster};
use crate::online::{FeedbackTiming, OnlineForecaster};
use crate::record::CompletedJob;
use crate::recorded_beliefs::learn_beliefs;

/// The experience with earlier jobs, from which estimates and beliefs are made. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedHistory {
    /// The forecaster of classes.
    pub forecaster: Forecaster,
    /// The beliefs by batches.
    pub beliefs: BeliefModel,
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
        let mut beliefs = BeliefModel::default();
        let jobs: Vec<(BeliefJob, CompletedJob)> = jobs
            .iter()
            .map(|(user, job)| (BeliefJob::new(*user, &job.job), *job))
            .collect();
        learn_beliefs(&mut beliefs, &jobs);
        Self {
            forecaster: online.finish(|_| ()),
            beliefs,
        }
    }

    /// Returns the belief about a job that a policy gets which believes `source`. A forecast of a class
    /// without experience is not believed.
    pub fn choose(&self, source: BeliefSource, belief: Belief, class: Option<&Forecast>) -> Belief {
        let class = class.filter(|class| self.forecaster.has_experience(class));
        match (source, class) {
            (BeliefSource::Batches, _) | (BeliefSource::Forecast, None) => belief,
            (BeliefSource::Forecast, Some(class)) => Belief {
                distribution: class.distribution(),
                ..belief
            },
        }
    }
}
