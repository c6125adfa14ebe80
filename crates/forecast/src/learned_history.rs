//! What is known about run times: the forecaster of classes, and the experience with requests.

use serde::{Deserialize, Serialize};
use tollgate_model::{BeliefSource, UserId};

use crate::belief::{Belief, BeliefModel, BeliefQuery, RequestSource};
use crate::forecaster::{Forecast, Forecaster};
use crate::online::{FeedbackTiming, OnlineForecaster};
use crate::record::CompletedJob;
use crate::stage::ClassStage;

/// The experience with earlier jobs, from which estimates and beliefs are made. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedHistory {
    /// The forecaster of classes.
    pub forecaster: Forecaster,
    /// The experience with requested run times.
    pub beliefs: BeliefModel,
}

impl LearnedHistory {
    /// Creates the experience with these jobs: as a site would have had it that forecast each at its
    /// submission, and learned from it at its end. Jobs that never ran teach nothing.
    pub fn of(mut jobs: Vec<(UserId, CompletedJob)>) -> Self {
        // A stable sort: jobs submitted together are learned in the order of the record.
        jobs.sort_by_key(|(_, job)| job.submit);
        let mut online = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
        let mut ended = Vec::with_capacity(jobs.len());
        for (user, job) in jobs {
            // A job that never ran is neither forecast nor learned.
            let said = online.submit(&job, |_| ()).ok();
            let said = said.filter(|said| online.forecaster().has_experience(said));
            ended.push((user, job, said.map(|said| said.distribution())));
        }
        let forecaster = online.finish(|_| ());
        ended.sort_by_key(|(_, job, _)| job.finish);
        let mut beliefs = BeliefModel::default();
        for (user, job, said) in &ended {
            beliefs.learn(*user, &job.job, job.runtime, said.as_ref());
        }
        Self {
            forecaster,
            beliefs,
        }
    }

    /// Learns from a job that has ended by itself, for which `said` was forecast. Without a forecast,
    /// only the experience with requests grows. A job that never ran teaches nothing.
    pub fn learn(&mut self, user: UserId, record: &CompletedJob, said: Option<&Forecast>) {
        let believed = said.filter(|said| self.forecaster.has_experience(said));
        let believed = believed.map(Forecast::distribution);
        self.beliefs
            .learn(user, &record.job, record.runtime, believed.as_ref());
        if let Some(said) = said {
            // A job that never ran is no error here.
            let _ = self.forecaster.learn(record, said);
        }
    }

    /// Returns the belief about a job, by the forecast of its class. A forecast without experience is
    /// not believed; and where no job had a request, the forecast of a known class is believed alone.
    pub fn belief(&self, query: &BeliefQuery<'_>, forecast: Option<&Forecast>) -> Belief {
        let forecast = forecast.filter(|forecast| self.forecaster.has_experience(forecast));
        let known = forecast.map(Forecast::distribution);
        let query = BeliefQuery {
            forecast: known.as_ref(),
            ..*query
        };
        let belief = self.beliefs.belief(&query);
        let is_known = forecast.is_some_and(|forecast| match forecast.stage() {
            ClassStage::Unseen | ClassStage::Cold => false,
            ClassStage::Young | ClassStage::Changing | ClassStage::Settled => true,
        });
        let has_request = belief.request_source != RequestSource::Default;
        if has_request || !is_known || query.source != BeliefSource::Mixture {
            return belief;
        }
        self.beliefs.belief(&BeliefQuery {
            source: BeliefSource::Forecast,
            ..query
        })
    }
}
