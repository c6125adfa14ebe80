//! The forecast of a job's run time, from what was learned.

use tollgate_forecast::{Belief, BeliefJob, ClassStage, Forecast, ForecastJob};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, Span, UserId};

use crate::command::Submission;
use crate::core::Core;
use crate::output::EstimateSource;
use crate::runtime_forecast::{ForecastBasis, RuntimeForecast, belief_job};

impl Core {
    /// Returns the forecast of a job's run time. `job` is its number, if it has one already.
    pub(crate) fn forecast(&self, submission: &Submission, job: Option<u64>) -> RuntimeForecast {
        let facts = self.classes.find(&submission.into());
        self.forecast_facts(submission, &facts, job)
    }

    /// Returns the forecast of the run time of a job with these facts: what the policy asks for. A policy that
    /// asks for no belief gets the forecast of the job's class; while nothing is known of the class, what is
    /// believed. A job that is ended at a time limit runs no longer. A job holds its nodes from the decision
    /// to start it, and so for the delay of its start as well.
    pub(crate) fn forecast_facts(
        &self,
        submission: &Submission,
        facts: &ForecastJob,
        job: Option<u64>,
    ) -> RuntimeForecast {
        let class = self.history.forecaster.forecast(facts);
        let is_known_array = |job: &u64| self.jobs.arrays.contains_key(job);
        let array = job.filter(is_known_array);
        // No job has the last number.
        let new_array = submission.options.array.as_ref().map(|_| u64::MAX);
        let believed = BeliefJob {
            array: array.or(new_array),
            n_tasks: submission.options.n_together(),
            ..belief_job(UserId(submission.user), facts)
        };
        let belief = self.history.beliefs.belief(&believed, self.now);
        let time_limit = submission.options.time_limit;
        let (distribution, basis) = self.expected(&belief, Some(&class), time_limit);
        let (estimate, source) = self.estimate(facts, &belief, &class, &distribution);
        let limit = time_limit.filter(|_| self.rules.enforces_time_limits());
        RuntimeForecast {
            class,
            distribution,
            kinship: belief.kinship,
            basis,
            estimate: limit.map_or(estimate, |limit| estimate.min(limit)) + self.rules.start_delay,
            source,
        }
    }

    /// Returns the distribution for decisions about a job, and its basis.
    pub(crate) fn expected(
        &self,
        belief: &Belief,
        class: Option<&Forecast>,
        time_limit: Option<Span>,
    ) -> (Distribution, ForecastBasis) {
        let has_experience = |class: &&Forecast| self.history.forecaster.has_experience(class);
        let known = class.filter(|_| !self.rules.policy.uses_beliefs());
        let (distribution, basis) = match known.filter(has_experience) {
            Some(class) => (spread(class), ForecastBasis::Jobs(class.stage())),
            None => (belief.distribution, ForecastBasis::Batches(belief.basis)),
        };
        let limit = time_limit.filter(|_| self.rules.enforces_time_limits());
        let distribution = limit.map_or(distribution, |limit| distribution.ended_at(limit));
        (distribution.delayed_by(self.rules.start_delay), basis)
    }

    /// Returns the estimate of a job without the delay of its start. It is the user's, else the run time that
    /// it exceeds with probability 1 - level by the jobs of its class, its user or the site. Else it is the
    /// default.
    fn estimate(
        &self,
        job: &ForecastJob,
        belief: &Belief,
        class: &Forecast,
        distribution: &Distribution,
    ) -> (Span, EstimateSource) {
        if let Some(request) = job.request.filter(|&request| request > Span::ZERO) {
            return (request, EstimateSource::User);
        }
        let [user, ..] = belief.basis.groups;
        let source = if class.stage() != ClassStage::Unseen || belief.basis.n_batches > 0 {
            EstimateSource::Class
        } else if user.n_batches > 0 {
            EstimateSource::UserJobs
        } else if belief.basis.site > 0.0 {
            EstimateSource::Site
        } else {
            return (self.rules.default_estimate, EstimateSource::Default);
        };
        let estimate = distribution.quantile(self.rules.level);
        (estimate - self.rules.start_delay, source)
    }
}

/// Returns the distribution of a forecast for a policy that takes it as it is. An almost untrained
/// forecaster returns a single run time without any margin; to take that for certain would promise too
/// much and too little. So run times are spread around it, by a factor of three either way in nine
/// cases of ten (log-logistic, of shape 2: an assumption that learning replaces).
fn spread(forecast: &Forecast) -> Distribution {
    let distribution = forecast.distribution();
    if forecast.stage() != ClassStage::Cold || !forecast.is_point() {
        return distribution;
    }
    let point = distribution.median().as_secs_f64();
    Distribution::new(LEVELS.map(|level| {
        let level = level.as_f64();
        Span::from_secs_f64(point * (level / (1.0 - level)).sqrt())
    }))
}
