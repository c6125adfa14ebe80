//! The expected run time of a job, and its basis.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{
    BeliefBasis, BeliefJob, BeliefSource, ClassStage, Forecast, ForecastJob, Program,
};
use tollgate_model::{Distribution, Instant, JobId, Kinship, RuntimeBelief, Span, UserId};

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
    pub(crate) class: Forecast,
    pub(crate) distribution: Distribution,
    pub(crate) kinship: Kinship,
    pub(crate) basis: ForecastBasis,
    pub(crate) estimate: Span,
    pub(crate) source: EstimateSource,
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

/// Returns a single job in the terms of beliefs. A job whose program is unknown is known by its name.
pub(crate) fn belief_job(user: UserId, job: &ForecastJob) -> BeliefJob {
    let known = BeliefJob::new(user, job);
    BeliefJob {
        program: known.program.or(Some(Program::Named(job.class))),
        ..known
    }
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
