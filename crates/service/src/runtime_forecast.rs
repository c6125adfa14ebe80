//! The expected run time of a job, and its basis.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{
    Belief, BeliefBasis, BeliefJob, BeliefSource, ClassStage, Forecast, ForecastJob, Program,
};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, Instant, JobId, Kinship, RuntimeBelief, Span, UserId};

use crate::Core;
use crate::command::Submission;
use crate::output::EstimateSource;

/// The basis of a run-time expectation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ForecastBasis {
    /// Batches of jobs that ended and run.
    Batches(BeliefBasis),
    /// Similar jobs that have ended here.
    Jobs(ClassStage),
}

impl ForecastBasis {
    /// Returns the number of batches with ended tasks in the nearest group of jobs, if batches are the basis.
    pub const fn n_batches(&self) -> Option<u32> {
        match self {
            Self::Batches(basis) => Some(basis.n_batches),
            Self::Jobs(_) => None,
        }
    }

    /// Returns the sources of the expectation with their parts, whose sum is 1, from the largest to the smallest.
    pub fn sources(&self) -> Vec<BeliefSource> {
        match self {
            Self::Batches(basis) => basis.sources(),
            Self::Jobs(stage) => vec![BeliefSource {
                part: 1.0,
                words: stage.to_string(),
            }],
        }
    }
}

/// Formats the basis to follow the words "forecast from".
impl fmt::Display for ForecastBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batches(basis) => basis.fmt(f),
            Self::Jobs(stage) => stage.fmt(f),
        }
    }
}

/// A run-time forecast for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeForecast {
    /// The forecast of the job's class at its submission, by which the forecaster is judged.
    class: Forecast,
    distribution: Distribution,
    kinship: Kinship,
    basis: ForecastBasis,
    estimate: Span,
    source: EstimateSource,
}

impl RuntimeForecast {
    /// Returns the forecaster's original forecast.
    pub fn forecast(&self) -> &Forecast {
        &self.class
    }

    /// Returns the distribution that decisions use.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Returns what the policy gets: this distribution, and the jobs with which the job is long or short
    /// together.
    pub(crate) fn belief(&self, distribution: Distribution) -> RuntimeBelief {
        RuntimeBelief {
            distribution,
            kinship: Some(self.kinship),
        }
    }

    /// Returns the jobs with which the job is long or short together.
    pub(crate) fn kinship(&self) -> Kinship {
        self.kinship
    }

    /// Returns the basis of the distribution.
    pub fn basis(&self) -> ForecastBasis {
        self.basis
    }

    /// Returns the estimate for the decision with its source: the user's, else that of the nearest group of
    /// jobs that is known, else the default.
    pub(crate) fn estimate(&self) -> (Span, EstimateSource) {
        (self.estimate, self.source)
    }

    /// Replaces the distribution, its basis and the kinship by later ones.
    pub(crate) fn revise(
        &mut self,
        (distribution, basis): (Distribution, ForecastBasis),
        kinship: Kinship,
    ) {
        self.distribution = distribution;
        self.basis = basis;
        self.kinship = kinship;
    }
}

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

    /// Returns the estimate of a job without the delay of its start: the user's; else, by the jobs of its
    /// class, its user or the site, the run time that it exceeds with probability 1 - level; else the default.
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

/// Returns a single job in the terms of beliefs. A job whose program is unknown is known by its name.
pub(crate) fn belief_job(user: UserId, job: &ForecastJob) -> BeliefJob {
    let known = BeliefJob::new(user, job);
    BeliefJob {
        program: known.program.or(Some(Program::Named(job.class))),
        ..known
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

/// A cache of the jobs' expected run times by slot, kept within a step and between queries. A running
/// job's expectation grows with its work, and is computed as of the last whole second.
#[derive(Clone, Debug, Default)]
pub(crate) struct MedianCache {
    as_of: Instant,
    by_slot: Vec<Option<Span>>,
}

impl MedianCache {
    /// Returns the median for the job in a slot at `now`; `derive` computes it as of a given
    /// second.
    pub(crate) fn get_or_insert(
        &mut self,
        slot: JobId,
        now: Instant,
        derive: impl FnOnce(Instant) -> Span,
    ) -> Span {
        let as_of = Instant::from_secs(now.as_micros().div_euclid(1_000_000));
        if self.as_of != as_of {
            self.as_of = as_of;
            self.by_slot.clear();
        }
        if slot.index() >= self.by_slot.len() {
            self.by_slot.resize(slot.index() + 1, None);
        }
        *self.by_slot[slot.index()].get_or_insert_with(|| derive(as_of))
    }

    /// Drops the value of a slot whose job has changed.
    pub(crate) fn invalidate(&mut self, slot: JobId) {
        if let Some(known) = self.by_slot.get_mut(slot.index()) {
            *known = None;
        }
    }
}
