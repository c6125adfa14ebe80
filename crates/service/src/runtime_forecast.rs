//! The expected run time of a job, and its basis.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{
    BeliefQuery, ClassStage, Forecast, ForecastJob, RatioSource, RequestSource,
};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{BeliefSource, Distribution, Instant, JobId, Span, UserId};

use crate::Core;
use crate::command::Submission;
use crate::output::EstimateSource;

/// The basis of a run-time expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForecastBasis {
    /// The estimate, and how estimates compared with run times: no similar job has ended here yet.
    Estimate(RatioSource),
    /// The estimate, and how estimates compared with run times, as the policy asks for that alone.
    Ratios(RatioSource),
    /// Similar jobs that have ended here.
    Jobs(ClassStage),
    /// Both: how estimates compared with run times, and similar jobs.
    Mixture(RatioSource, ClassStage),
}

/// Formats the basis to follow the words "forecast from".
impl fmt::Display for ForecastBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let estimate = |ratios: &RatioSource| match ratios {
            RatioSource::Table => "the estimate, as at other sites",
            RatioSource::Site => "the estimate, as for other jobs here",
            RatioSource::User => "the estimate, as for other jobs of this user",
        };
        match self {
            Self::Estimate(ratios) => {
                write!(f, "{}: no job like it has ended here yet", estimate(ratios))
            }
            Self::Ratios(ratios) => f.write_str(estimate(ratios)),
            Self::Jobs(stage) => stage.fmt(f),
            Self::Mixture(ratios, stage) => write!(f, "{}, and {stage}", estimate(ratios)),
        }
    }
}

/// A run-time forecast for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeForecast {
    /// The forecast of the job's class at its submission, by which the forecaster is judged.
    class: Forecast,
    distribution: Distribution,
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

    /// Returns the basis of the distribution.
    pub fn basis(&self) -> ForecastBasis {
        self.basis
    }

    /// Returns the estimate for the decision with its source: the user's, else that of similar jobs,
    /// else the median request of the nearest group of jobs that is known, else the default.
    pub(crate) fn estimate(&self) -> (Span, EstimateSource) {
        (self.estimate, self.source)
    }

    /// Returns the same forecast with the distribution of a later one.
    pub(crate) fn revised(self, later: &Self) -> Self {
        Self {
            distribution: later.distribution,
            basis: later.basis,
            ..self
        }
    }
}

impl Core {
    /// Returns the forecast of a job's run time.
    pub(crate) fn forecast(&self, submission: &Submission) -> RuntimeForecast {
        let job = self.classes.find(&submission.into());
        self.forecast_job(UserId(submission.user), &job, submission.options.time_limit)
    }

    /// Returns the forecast of a job's run time: the belief that the policy asks for. A policy that
    /// asks for none gets the forecast of the job's class; while nothing is known of the class, what
    /// jobs of its user and of the site needed of their requests. A job that is ended at a time limit
    /// runs no longer. A job holds its nodes from the decision to start it, and so for the delay of its
    /// start as well.
    pub(crate) fn forecast_job(
        &self,
        user: UserId,
        job: &ForecastJob,
        time_limit: Option<Span>,
    ) -> RuntimeForecast {
        let class = self.history.forecaster.forecast(job);
        let stage = class.stage();
        let is_known = self.history.forecaster.has_experience(&class);
        let source = self.rules.policy.belief();
        let belief = self.history.belief(
            &BeliefQuery {
                user,
                job,
                forecast: None,
                source: source.unwrap_or(BeliefSource::User),
                default_request: self.rules.default_estimate,
            },
            Some(&class),
        );
        let (distribution, basis) = match (source, belief.ratios) {
            (None, _) if is_known => (spread(&class), ForecastBasis::Jobs(stage)),
            (_, None) => (belief.distribution, ForecastBasis::Jobs(stage)),
            (_, Some(ratios)) => {
                let basis = match source {
                    Some(BeliefSource::Mixture) if is_known => {
                        ForecastBasis::Mixture(ratios, stage)
                    }
                    Some(BeliefSource::User) if stage != ClassStage::Unseen => {
                        ForecastBasis::Ratios(ratios)
                    }
                    Some(_) | None => ForecastBasis::Estimate(ratios),
                };
                (belief.distribution, basis)
            }
        };
        let (estimate, source) = match (belief.request_source, stage) {
            (RequestSource::Job, _) => (belief.request, EstimateSource::User),
            (RequestSource::Class, _)
            | (
                _,
                ClassStage::Cold | ClassStage::Young | ClassStage::Changing | ClassStage::Settled,
            ) => (
                distribution.quantile(self.rules.level),
                EstimateSource::Class,
            ),
            (RequestSource::User, ClassStage::Unseen) => (belief.request, EstimateSource::UserJobs),
            (RequestSource::Site, ClassStage::Unseen) => (belief.request, EstimateSource::Site),
            (RequestSource::Default, ClassStage::Unseen) => {
                (belief.request, EstimateSource::Default)
            }
        };
        let limit = time_limit.filter(|_| self.rules.enforces_time_limits());
        let distribution = limit.map_or(distribution, |limit| distribution.ended_at(limit));
        let delay = self.rules.start_delay;
        RuntimeForecast {
            class,
            distribution: distribution.delayed_by(delay),
            basis,
            estimate: limit.map_or(estimate, |limit| estimate.min(limit)) + delay,
            source,
        }
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
