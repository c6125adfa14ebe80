//! What is believed about the jobs of one class in one mode.

use serde::{Deserialize, Serialize};

use crate::conformal::{ConformalOffsets, QuantileProposals, QuantileTable, SourceWeights, table};
use crate::expert::{Expert, FittedModels};
use crate::expert_weights::{ExpertForecasts, ExpertWeights};
use crate::history::{ClassHistory, JobFeatures, SimilarJobs};
use crate::site_prior::SitePrior;
use crate::stage::ClassStage;
use crate::window::{RollingWindow, conformal};

/// How many residuals are remembered.
const RESIDUALS: usize = 100;
/// From how many look-alikes on they propose quantiles.
const MIN_SIMILAR_JOBS: usize = 5;
/// How far above the longest recent run time a proposal may lie, as a logarithm: 5 %.
const HEADROOM: f64 = 0.05;
/// The level of the recent sizes of error up to which an error is usual.
const USUAL_LEVEL: f64 = 0.9;
/// How far the offsets of a class move after a miss: fast enough for a class, slow enough for a
/// burst of late feedback on jobs of which the same was said.
const STEP: f64 = 0.03;

/// The beliefs about a class; times are logarithms of seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModeModel {
    history: ClassHistory,
    fits: FittedModels,
    votes: ExpertWeights,
    residuals: RollingWindow<RESIDUALS>,
    trust: SourceWeights,
    offsets: ConformalOffsets,
}

/// Everything that was said of one job, to be compared with what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ForecastDetails {
    pub(crate) opinions: ExpertForecasts,
    pub(crate) point: f64,
    pub(crate) proposals: QuantileProposals,
    pub(crate) bounds: QuantileTable,
}

impl ModeModel {
    pub(crate) fn history(&self) -> &ClassHistory {
        &self.history
    }

    /// The experts' opinions on a job that asked for `asked`, and their weighted median.
    pub(crate) fn expert_forecasts(&self, asked: JobFeatures) -> (ExpertForecasts, Option<f64>) {
        let opinions = Expert::ALL.map(|expert| expert.forecast(&self.history, &self.fits, asked));
        let point = self.votes.median(&opinions);
        (opinions, point)
    }

    /// The size of error that only one job in ten of late has exceeded; zero without history.
    pub(crate) fn usual_error(&self) -> f64 {
        self.error_at(USUAL_LEVEL)
    }

    /// The size of error that half of the jobs of late have exceeded; zero without history.
    pub(crate) fn typical_error(&self) -> f64 {
        self.error_at(0.5)
    }

    fn error_at(&self, level: f64) -> f64 {
        let mut sizes: Vec<f64> = self.residuals.arrived().iter().map(|r| r.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        conformal(&sizes, level).unwrap_or(0.0)
    }

    /// The expert that has most of the votes.
    pub(crate) fn leader(&self) -> Expert {
        Expert::ALL[self.votes.leader()]
    }

    /// The part of the votes that the leader has.
    pub(crate) fn leader_weight(&self) -> f64 {
        self.votes.weight(self.votes.leader())
    }

    /// What is to be said of a job that asked for `asked`, at this `stage` of its class.
    pub(crate) fn forecast(
        &self,
        asked: JobFeatures,
        stage: ClassStage,
        pool: &SitePrior,
    ) -> ForecastDetails {
        let (opinions, point) = self.expert_forecasts(asked);
        let point = point.unwrap_or_else(|| pool.prior(asked));
        let proposals = self.proposals(asked, point, stage, pool);
        let trust = if stage.is_cold() {
            pool.trust(stage)
        } else {
            &self.trust
        };
        let mut bounds = trust.blend(&proposals).unwrap_or([point; _]);
        self.offsets.shift(&mut bounds);
        pool.adjust(&mut bounds, stage, asked);
        ForecastDetails {
            opinions,
            point,
            proposals,
            bounds,
        }
    }

    fn proposals(
        &self,
        asked: JobFeatures,
        point: f64,
        stage: ClassStage,
        pool: &SitePrior,
    ) -> QuantileProposals {
        let cold = stage.is_cold();
        let alike = SimilarJobs::of(&self.history, asked);
        let around = |offset: f64| point + offset;
        let residual = |level| {
            let own = if cold {
                None
            } else {
                self.residuals.quantile(level)
            };
            own.or_else(|| pool.residual_quantile(stage, level))
                .map(around)
        };
        let run = |level| {
            if cold {
                pool.runtime_quantile(level)
            } else {
                self.history.runs().quantile(level)
            }
        };
        let similar = |level| {
            (alike.len() >= MIN_SIMILAR_JOBS)
                .then(|| alike.quantile(level))
                .flatten()
        };
        let asked_for = |level| {
            let ratio = if cold {
                pool.ratio_quantile(level)
            } else {
                self.history.ratios().quantile(level)
            };
            Some(asked.ln_request? + ratio?)
        };
        let mut proposals: QuantileProposals = [
            table(residual),
            table(run),
            table(similar),
            table(asked_for),
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

    /// Takes in whether the promise at the level of this index was kept.
    pub(crate) fn judge(&mut self, level_idx: usize, kept: bool) {
        self.offsets.judge(level_idx, kept, STEP);
    }

    /// Goes on with what `other` has learned about misses: a class must be covered as often as is
    /// said across its modes, not in each from zero.
    pub(crate) fn inherit_offsets(&mut self, other: &Self) {
        self.offsets = other.offsets;
    }

    /// Takes in that a job of which `said` was said ran for `ln_run`.
    ///
    /// Promises are judged apart: see [`Self::judge`].
    pub(crate) fn learn(&mut self, asked: JobFeatures, said: &ForecastDetails, ln_run: f64) {
        self.votes.learn(&said.opinions, ln_run);
        self.residuals.push(ln_run - said.point);
        self.trust.learn(&said.proposals, ln_run);
        self.history.push(asked, ln_run);
        self.fits.refresh(&self.history);
    }
}
