//! The expected run time of a job, and its basis.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassStage, Forecast, ForecastJob, Forecaster};
use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{Distribution, Instant, JobId, Span};

/// The basis of a run-time expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForecastBasis {
    /// The estimate, and how it compares with run times at other sites: too few jobs have ended here.
    Estimate,
    /// The estimate, and how estimates compared with run times here: no similar job has ended here yet.
    SiteEstimates,
    /// Jobs that have ended here.
    Jobs(ClassStage),
}

/// Formats the basis to follow the words "forecast from".
impl fmt::Display for ForecastBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimate => {
                f.write_str("the estimate, as at other sites: no job like it has ended here yet")
            }
            Self::SiteEstimates => f.write_str(
                "the estimate, as for other jobs here: no job like it has ended here yet",
            ),
            Self::Jobs(stage) => stage.fmt(f),
        }
    }
}

/// Minimum number of known classes for a forecast of an unknown class from all of them. A few other
/// classes say nothing about it.
const MIN_SITE_CLASSES: usize = 10;

/// A run-time forecast for a job, with the state of the forecaster's knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeForecast {
    forecast: Forecast,
    /// Whether enough classes are known to forecast one more from them.
    site_is_known: bool,
    /// The site's run times in parts of the users' estimates, if enough jobs are known.
    site_parts: Option<[f64; N_LEVELS]>,
}

impl RuntimeForecast {
    /// Returns the current forecast of `forecaster` for a job.
    pub(crate) fn new(forecaster: &Forecaster, job: &ForecastJob) -> Self {
        Self {
            forecast: forecaster.forecast(job),
            site_is_known: forecaster.classes().nth(MIN_SITE_CLASSES - 1).is_some(),
            site_parts: forecaster.parts_of_request(),
        }
    }

    /// Returns the forecaster's original forecast.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// Returns the distribution that decisions use, with its basis. An almost untrained forecaster
    /// returns a single run time without any margin; to take that for certain would promise too
    /// much and too little.
    ///
    /// If no similar job has ended, run times are spread as the parts of the estimates that jobs
    /// needed here, or at other sites ([`Distribution::of_request`]). If a few jobs of the class have, run
    /// times are spread around theirs, by a factor of three either way in nine cases of ten
    /// (log-logistic, of shape 2: an assumption that learning replaces).
    pub(crate) fn distribution(&self, estimate: Span) -> (Distribution, ForecastBasis) {
        let said = self.forecast.distribution();
        let quantiles = said.quantiles();
        let is_point = quantiles.first() == quantiles.last();
        match self.forecast.stage() {
            ClassStage::Unseen if is_point || !self.site_is_known => {
                let estimate_s = estimate.as_secs_f64();
                match self.site_parts {
                    Some(parts) => {
                        let runtimes = parts.map(|part| Span::from_secs_f64(part * estimate_s));
                        (Distribution::new(runtimes), ForecastBasis::SiteEstimates)
                    }
                    None => (Distribution::of_request(estimate), ForecastBasis::Estimate),
                }
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

fn distribution_of(quantile: impl Fn(f64) -> f64) -> Distribution {
    Distribution::new(LEVELS.map(|level| Span::from_secs_f64(quantile(level.as_f64()))))
}
