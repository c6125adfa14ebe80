//! The forecast of a job's run time, from what was learned.

use tollgate_forecast::{Belief, BeliefBasis, BeliefJob, ForecastJob};
use tollgate_model::{Distribution, Span, UserId};

use crate::command::Submission;
use crate::core::Core;
use crate::output::EstimateSource;
use crate::runtime_forecast::{RuntimeForecast, belief_job};

impl Core {
    /// Returns the forecast of a job's run time. `job` is its number, if it has one already.
    pub(crate) fn forecast(&self, submission: &Submission, job: Option<u64>) -> RuntimeForecast {
        let facts = self.classes.find(&submission.into());
        self.forecast_facts(submission, &facts, job)
    }

    /// Returns the forecast of the run time of a job with these facts: what is believed of it, whatever the policy. A job
    /// that is ended at a time limit runs no longer. A job holds its nodes from the decision to start it, and so for the
    /// delay of its start as well.
    pub(crate) fn forecast_facts(
        &self,
        submission: &Submission,
        facts: &ForecastJob,
        job: Option<u64>,
    ) -> RuntimeForecast {
        let (_, belief) = self.belief_of(submission, facts, job);
        let time_limit = submission.options.shortest_limit();
        let (distribution, basis) = self.expected(&belief, time_limit);
        let (estimate, source) = self.estimate(facts, &belief, &distribution);
        let limit = time_limit.filter(|_| self.rules.enforces_time_limits());
        RuntimeForecast {
            distribution,
            kinship: belief.kinship,
            basis,
            estimate: limit.map_or(estimate, |limit| estimate.min(limit)) + self.rules.start_delay,
            source,
        }
    }

    /// Returns a job with these facts in the terms of beliefs, and what is believed of its run time. `job` is its number, if it has one already.
    pub(crate) fn belief_of(
        &self,
        submission: &Submission,
        facts: &ForecastJob,
        job: Option<u64>,
    ) -> (BeliefJob, Belief) {
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
        (believed, belief)
    }

    /// Returns the distribution for decisions about a job, and its basis.
    pub(crate) fn expected(
        &self,
        belief: &Belief,
        time_limit: Option<Span>,
    ) -> (Distribution, BeliefBasis) {
        let distribution = belief.distribution;
        let limit = time_limit.filter(|_| self.rules.enforces_time_limits());
        let distribution = limit.map_or(distribution, |limit| distribution.ended_at(limit));
        (
            distribution.delayed_by(self.rules.start_delay),
            belief.basis,
        )
    }

    /// Returns the estimate of a job without the delay of its start. It is the user's, else the run time that
    /// it exceeds with probability 1 - level by the jobs of its class, its user or the site. Else it is the
    /// default.
    fn estimate(
        &self,
        job: &ForecastJob,
        belief: &Belief,
        distribution: &Distribution,
    ) -> (Span, EstimateSource) {
        if let Some(request) = job.request.filter(|&request| request > Span::ZERO) {
            return (request, EstimateSource::User);
        }
        let [user, ..] = belief.basis.groups;
        let of_class = belief.basis.n_batches > 0 || belief.basis.siblings.n_ended > 0;
        let source = if of_class {
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
