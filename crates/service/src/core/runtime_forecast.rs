//! How long a job is expected to take, and what that is known from.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassStage, Forecast, ForecastJob, Forecaster};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, Instant, JobId, Span};

/// What the expectation of a run time is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForecastBasis {
    /// From the estimate alone: nothing like it has ended here yet.
    Estimate,
    /// From what has ended here.
    Jobs(ClassStage),
}

/// In words, to stand after "forecast from".
impl fmt::Display for ForecastBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimate => f.write_str("the estimate alone: no job like it has ended here yet"),
            Self::Jobs(stage) => stage.fmt(f),
        }
    }
}

/// From so many classes on, a class that nobody knows yet is told from them all. What a few
/// others did says nothing of it.
const MIN_SITE_CLASSES: usize = 10;

/// What is forecast of a job, and what that is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeForecast {
    forecast: Forecast,
    /// Whether so many classes are known that one more can be told from them.
    site_is_known: bool,
}

impl RuntimeForecast {
    /// What `forecaster` says of a job now.
    pub(super) fn new(forecaster: &Forecaster, job: &ForecastJob) -> Self {
        Self {
            forecast: forecaster.forecast(job),
            site_is_known: forecaster.classes().nth(MIN_SITE_CLASSES - 1).is_some(),
        }
    }

    /// As it was said.
    pub(super) fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// The forecast as it is decided by. A forecaster that has seen next to nothing knows one run time
    /// and no margin; to take that for certain would promise too much and too little.
    ///
    /// Where nothing like the job has ended, run times are spread evenly up to the estimate, as they are
    /// on most machines (Mu'alem & Feitelson 2001, section 3); where a few jobs of the class have, around
    /// what they took, by a factor of three either way in nine cases of ten (log-logistic, of shape 2: an
    /// assumption, replaced by what is learned).
    pub(super) fn distribution(&self, estimate: Span) -> (Distribution, ForecastBasis) {
        let said = self.forecast.distribution();
        let quantiles = said.quantiles();
        let is_point = quantiles.first() == quantiles.last();
        match self.forecast.stage() {
            ClassStage::Unseen if is_point || !self.site_is_known => {
                let evenly = |level: f64| estimate.as_secs_f64() * level;
                (distribution_of(evenly), ForecastBasis::Estimate)
            }
            ClassStage::Cold if is_point => {
                let point = said.median().as_secs_f64();
                let around = |level: f64| point * (level / (1.0 - level)).sqrt();
                (
                    distribution_of(around),
                    ForecastBasis::Jobs(ClassStage::Cold),
                )
            }
            stage @ (ClassStage::Unseen
            | ClassStage::Cold
            | ClassStage::Young
            | ClassStage::Changing
            | ClassStage::Settled) => (said, ForecastBasis::Jobs(stage)),
        }
    }
}

/// How long the jobs that are there are expected to take, by slot, kept from one question to the
/// next. A job that runs on is expected to take longer and longer: what is expected is as of the last
/// whole second. So it follows from the state and the present instant alone, whatever was asked
/// before, as recovery needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct MedianCache {
    as_of: Instant,
    by_slot: Vec<Option<Span>>,
}

impl MedianCache {
    /// The median of the job in a slot at `now`; `derive` derives it as of a second.
    pub(super) fn get_or_insert(
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

    /// Something happened to the job in a slot.
    pub(super) fn invalidate(&mut self, slot: JobId) {
        if let Some(known) = self.by_slot.get_mut(slot.index()) {
            *known = None;
        }
    }
}

fn distribution_of(quantile: impl Fn(f64) -> f64) -> Distribution {
    Distribution::new(LEVELS.map(|level| Span::from_secs_f64(quantile(level.as_f64()))))
}
