//! The state shared by all classes: the prior of a class without history, and the calibration of
//! forecasts at each stage.

use serde::{Deserialize, Serialize};

use crate::conformal::{ConformalOffsets, QuantileTable, SourceWeights};
use crate::history::JobFeatures;
use crate::model::ForecastDetails;
use crate::record::ln_secs;
use crate::stage::{ClassStage, N_STAGES};
use crate::window::RollingWindow;

/// Number of remembered jobs of the whole site.
const MAX_SITE_JOBS: usize = 1000;
/// Number of remembered residuals of a stage.
const RESIDUALS: usize = 300;
/// Step of a stage's offsets after a miss: smaller than that of a class, because feedback on many
/// classes comes in bursts.
const STEP: f64 = 0.005;

/// Minimum number of ratios for deciding whether a site enforces requests.
const MIN_RATIOS: usize = 100;
/// The level of run time / request at which enforcement is tested.
const ENFORCED_LEVEL: f64 = 0.99;
/// Requests are enforced if jobs exceed them by at most this at that level, as a logarithm.
const ENFORCED_EXCESS: f64 = 0.1;

/// The forecast of a job without any history, on a site without any history.
const DEFAULT_RUNTIME: tollgate_model::Span = tollgate_model::Span::from_secs(3600);

/// The prior of the whole site; times are logarithms of seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SitePrior {
    runs: RollingWindow<MAX_SITE_JOBS>,
    /// Run time less request, as logarithms.
    ratios: RollingWindow<MAX_SITE_JOBS>,
    stages: [StageCalibration; N_STAGES],
}

/// The calibration of forecasts at one stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct StageCalibration {
    residuals: RollingWindow<RESIDUALS>,
    trust: SourceWeights,
    offsets: ConformalOffsets,
}

impl SitePrior {
    /// Returns the point forecast for a class without history.
    pub(crate) fn prior(&self, features: JobFeatures) -> f64 {
        let by_request = features
            .ln_request
            .map(|request| request + self.ratios.quantile(0.5).unwrap_or(0.0));
        by_request
            .or_else(|| self.runs.quantile(0.5))
            .or_else(|| ln_secs(DEFAULT_RUNTIME))
            .unwrap_or(0.0)
    }

    pub(crate) fn runtime_quantiles(&self) -> Option<QuantileTable> {
        self.runs.quantiles()
    }

    pub(crate) fn ratio_quantiles(&self) -> Option<QuantileTable> {
        self.ratios.quantiles()
    }

    pub(crate) fn residual_quantiles(&self, stage: ClassStage) -> Option<QuantileTable> {
        self.stages[stage as usize].residuals.quantiles()
    }

    pub(crate) fn trust(&self, stage: ClassStage) -> &SourceWeights {
        &self.stages[stage as usize].trust
    }

    /// Returns the longest recent run time.
    pub(crate) fn longest(&self) -> Option<f64> {
        self.runs.max()
    }

    /// Moves `bounds` by the misses of this stage, and caps them at the site's limit for a job.
    pub(crate) fn adjust(
        &self,
        bounds: &mut QuantileTable,
        stage: ClassStage,
        features: JobFeatures,
    ) {
        self.stages[stage as usize].offsets.shift(bounds);
        if let Some(limit) = self.limit(features) {
            for bound in bounds.iter_mut() {
                *bound = bound.min(limit);
            }
        }
        let mut floor = 0.0;
        for bound in bounds {
            floor = bound.max(floor);
            *bound = floor;
        }
    }

    /// Returns the site's limit on the job's run time, if the site was found to enforce requests.
    fn limit(&self, features: JobFeatures) -> Option<f64> {
        if self.ratios.len() < MIN_RATIOS {
            return None;
        }
        let excess = self.ratios.quantile(ENFORCED_LEVEL)?;
        (excess <= ENFORCED_EXCESS).then_some(features.ln_request? + excess.max(0.0))
    }

    pub(crate) fn learn(
        &mut self,
        features: JobFeatures,
        stage: ClassStage,
        details: &ForecastDetails,
        ln_run: f64,
    ) {
        self.runs.push(ln_run);
        if let Some(ln_request) = features.ln_request {
            self.ratios.push(ln_run - ln_request);
        }
        let shared = &mut self.stages[stage as usize];
        shared.residuals.push(ln_run - details.point);
        shared.trust.learn(&details.proposals, ln_run);
    }

    /// Records whether a promise at this stage and the level of this index was kept.
    pub(crate) fn judge(&mut self, stage: ClassStage, level_idx: usize, kept: bool) {
        let shared = &mut self.stages[stage as usize];
        shared.offsets.judge(level_idx, kept, STEP);
    }
}
