//! The model of the jobs of one class in one mode.

use serde::{Deserialize, Serialize};

use crate::conformal::{ConformalOffsets, QuantileProposals, QuantileTable, SourceWeights};
use crate::expert::{Expert, FittedModels, RunForecasts};
use crate::expert_weights::{ExpertForecasts, ExpertWeights};
use crate::history::{ClassHistory, JobFeatures};
use crate::memo::Memo;
use crate::site_prior::SitePrior;
use crate::stage::ClassStage;
use crate::window::RollingWindow;

/// Number of remembered residuals.
const RESIDUALS: usize = 100;
/// Minimum number of look-alikes for proposing quantiles.
const MIN_SIMILAR_JOBS: usize = 5;
/// Maximum excess of a proposal over the longest recent run time, as a logarithm: 5 %.
const HEADROOM: f64 = 0.05;
/// The level of the recent error sizes up to which an error is usual.
const USUAL_LEVEL: f64 = 0.9;
/// Step of a class's offsets after a miss: large enough for a class, small enough for a burst of
/// late feedback on jobs with the same forecast.
const STEP: f64 = 0.03;

/// The model of a class; times are logarithms of seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModeModel {
    history: ClassHistory,
    fits: FittedModels,
    votes: ExpertWeights,
    residuals: RollingWindow<RESIDUALS>,
    trust: SourceWeights,
    offsets: ConformalOffsets,
    /// The forecasts that follow from `history` and `fits` alone.
    #[serde(skip)]
    by_runs: Memo<RunForecasts>,
}

/// The complete forecast of one job, kept for comparison with the run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ForecastDetails {
    pub(crate) opinions: ExpertForecasts,
    pub(crate) point: f64,
    pub(crate) proposals: QuantileProposals,
    pub(crate) bounds: QuantileTable,
}

impl ForecastDetails {
    /// Returns true if any expert had a forecast: the point is their median.
    pub(crate) fn has_opinions(&self) -> bool {
        self.opinions.iter().any(Option::is_some)
    }
}

impl ModeModel {
    pub(crate) fn history(&self) -> &ClassHistory {
        &self.history
    }

    /// Returns the experts' forecasts of a job with `features`, and their weighted median.
    pub(crate) fn expert_forecasts(&self, features: JobFeatures) -> (ExpertForecasts, Option<f64>) {
        let by_runs = || RunForecasts::of(&self.history, &self.fits);
        let by_runs = self.by_runs.get_or(by_runs);
        let opinions = Expert::forecast_all(&self.history, by_runs, features);
        let point = self.votes.median(&opinions);
        (opinions, point)
    }

    /// Returns the error size that only one recent job in ten has exceeded; zero without history.
    pub(crate) fn usual_error(&self) -> f64 {
        self.residuals
            .magnitude_quantile(USUAL_LEVEL)
            .unwrap_or(0.0)
    }

    /// Returns the error size that half of the recent jobs have exceeded; zero without history.
    pub(crate) fn typical_error(&self) -> f64 {
        self.residuals.magnitude_quantile(0.5).unwrap_or(0.0)
    }

    /// Returns the expert with the most votes.
    pub(crate) fn leader(&self) -> Expert {
        Expert::ALL[self.votes.leader()]
    }

    /// Returns the fraction of the votes that the leader has.
    pub(crate) fn leader_weight(&self) -> f64 {
        self.votes.weight(self.votes.leader())
    }

    /// Returns the forecast of a job with `features`, at this `stage` of its class.
    pub(crate) fn forecast(
        &self,
        features: JobFeatures,
        stage: ClassStage,
        pool: &SitePrior,
    ) -> ForecastDetails {
        let (opinions, point) = self.expert_forecasts(features);
        let point = point.unwrap_or_else(|| pool.prior(features));
        let proposals = self.proposals(features, point, stage, pool);
        let trust = if stage.is_cold() {
            pool.trust(stage)
        } else {
            &self.trust
        };
        let mut bounds = trust.blend(&proposals).unwrap_or([point; _]);
        self.offsets.shift(&mut bounds);
        pool.adjust(&mut bounds, stage, features);
        ForecastDetails {
            opinions,
            point,
            proposals,
            bounds,
        }
    }

    fn proposals(
        &self,
        features: JobFeatures,
        point: f64,
        stage: ClassStage,
        pool: &SitePrior,
    ) -> QuantileProposals {
        let around = |table: QuantileTable, centre: f64| table.map(|value| centre + value);
        let alike = self.history.similar_jobs(features);
        let alike = alike.filter(|alike| alike.len() >= MIN_SIMILAR_JOBS);
        let cold = stage.is_cold();
        let (residuals, runs, ratios) = if cold {
            (None, pool.runtime_quantiles(), pool.ratio_quantiles())
        } else {
            let history = &self.history;
            let (runs, ratios) = (history.runs().quantiles(), history.ratios().quantiles());
            (self.residuals.quantiles(), runs, ratios)
        };
        let residuals = residuals.or_else(|| pool.residual_quantiles(stage));
        let mut proposals: QuantileProposals = [
            residuals.map(|offsets| around(offsets, point)),
            runs,
            alike.and_then(RollingWindow::quantiles),
            features
                .ln_request
                .zip(ratios)
                .map(|(request, ratios)| around(ratios, request)),
        ];
        let longest = if cold {
            pool.longest()
        } else {
            self.history.runs().max()
        };
        if let Some(longest) = longest {
            for bound in proposals.iter_mut().flatten().flatten() {
                *bound = bound.min(longest + HEADROOM);
            }
        }
        proposals
    }

    /// Records whether the promise at the level of this index was kept.
    pub(crate) fn judge(&mut self, level_idx: usize, kept: bool) {
        self.offsets.judge(level_idx, kept, STEP);
    }

    /// Copies the offsets that `other` has learned from misses: the coverage of a class must hold
    /// across its modes, not restart in each.
    pub(crate) fn inherit_offsets(&mut self, other: &Self) {
        self.offsets = other.offsets;
    }

    /// Learns that a job with the forecast `details` ran for `ln_run`.
    ///
    /// Promises are judged separately: see [`Self::judge`].
    pub(crate) fn learn(&mut self, features: JobFeatures, details: &ForecastDetails, ln_run: f64) {
        self.votes.learn(&details.opinions, ln_run);
        self.residuals.push(ln_run - details.point);
        self.trust.learn(&details.proposals, ln_run);
        self.history.push(features, ln_run);
        self.fits.refresh(&self.history);
        self.by_runs = Memo::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ClassId, ForecastJob, JobAttributes};
    use proptest::prelude::*;
    use tollgate_model::Span;

    proptest! {
        #[test]
        fn kept_forecasts_are_those_that_would_be_made_now(
            jobs in prop::collection::vec((1_u32..4, 0.0..9.0f64, any::<bool>()), 1..150),
        ) {
            let (mut model, pool) = (ModeModel::default(), SitePrior::default());
            for (procs, ln_run, is_learned) in jobs {
                let features = JobFeatures::of(&ForecastJob {
                    class: ClassId(0),
                    procs,
                    request: Some(Span::from_secs(3600)),
                    context: JobAttributes::default(),
                });
                let details = model.forecast(features, ClassStage::Settled, &pool);
                let fresh = ModeModel { by_runs: Memo::default(), ..model.clone() };
                prop_assert_eq!(&details, &fresh.forecast(features, ClassStage::Settled, &pool));
                if is_learned {
                    model.learn(features, &details, ln_run);
                }
            }
        }
    }
}
