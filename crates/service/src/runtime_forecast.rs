//! The expected run time of a job, and its basis.

use serde::{Deserialize, Serialize};
use tollgate_forecast::{BeliefBasis, BeliefJob, ForecastJob, Program};
use tollgate_model::{Distribution, Instant, JobId, Kinship, RuntimeBelief, Span, UserId};

use crate::output::EstimateSource;

/// A run-time forecast for a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeForecast {
    pub(crate) distribution: Distribution,
    pub(crate) kinship: Kinship,
    pub(crate) basis: BeliefBasis,
    pub(crate) estimate: Span,
    pub(crate) source: EstimateSource,
}

impl RuntimeForecast {
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
    pub fn basis(&self) -> BeliefBasis {
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
        (distribution, basis): (Distribution, BeliefBasis),
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
