//! The forecaster of a site: learns from ended jobs and forecasts submitted jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Probability, Span};

use crate::change_point::AlarmTriggers;
use crate::class::{ClassEvent, ClassState};
use crate::class_tree::{ClassPart, ClassTree};
use crate::expert::Expert;
use crate::history::JobFeatures;
use crate::model::ForecastDetails;
use crate::record::{ClassId, CompletedJob, ForecastJob, ln_secs, span_of};
use crate::site_prior::SitePrior;
use crate::stage::ClassStage;
use crate::summary::ClassSummary;

/// A forecaster for the jobs of a site. Memory is constant per class.
///
/// Call [`Self::forecast`] at submission, and [`Self::learn`] with that forecast once the job has
/// ended; any number of other jobs may come in between. Serialises through
/// [`crate::ForecasterSnapshot`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecaster {
    triggers: AlarmTriggers,
    classes: BTreeMap<ClassId, ClassTree>,
    whole: bool,
    pool: SitePrior,
}

/// The levels between which a run time is likely.
const LIKELY: [Probability; 2] = [
    Probability::new(0.1).expect("a probability"),
    Probability::new(0.9).expect("a probability"),
];

/// The forecast made for a job at its submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    details: ForecastDetails,
    stage: ClassStage,
    part: ClassPart,
    mode: u32,
    leader: Option<Expert>,
}

impl Forecast {
    /// Returns the expected run time: the median of the experts, weighted by their success.
    pub fn point(&self) -> Span {
        span_of(self.details.point)
    }

    /// Returns the expected run time as it is stated beside the distribution: within its 0.1 and 0.9
    /// quantiles. The experts' votes and the calibrated distribution have different evidence, and can
    /// contradict each other.
    pub fn point_beside_distribution(&self) -> Span {
        let distribution = self.distribution();
        let [low, high] = LIKELY.map(|level| distribution.quantile(level));
        self.point().clamp(low, high)
    }

    /// Returns the run time distribution, with probabilities calibrated on earlier promises. Every
    /// quantile lies between a second and a hundred years.
    pub fn distribution(&self) -> Distribution {
        Distribution::new(self.details.bounds.map(span_of))
    }

    /// Returns the job's value of the aspect by which its class is split, if the job belongs to a
    /// part.
    pub const fn part(&self) -> Option<u32> {
        self.part
    }

    /// Returns the stage of the job's class.
    pub const fn stage(&self) -> ClassStage {
        self.stage
    }

    /// Returns the expert that had the most votes; None for a class without history.
    pub const fn leader(&self) -> Option<Expert> {
        self.leader
    }

    /// Returns the promise made to a job of `class` by the quantile at the level of this index.
    pub(crate) fn promise(&self, class: ClassId, level_idx: usize) -> BoundPromise {
        BoundPromise {
            class,
            part: self.part,
            stage: self.stage,
            level_idx,
        }
    }

    /// Returns one expert's forecast, if it had one.
    pub fn expert_forecast(&self, expert: Expert) -> Option<Span> {
        self.details.opinions[expert as usize].map(span_of)
    }
}

/// A promise that a job takes at most as long as a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundPromise {
    class: ClassId,
    part: ClassPart,
    /// The stage of the class.
    stage: ClassStage,
    level_idx: usize,
}

impl BoundPromise {
    /// Returns the index of the level.
    pub(crate) const fn level_idx(&self) -> usize {
        self.level_idx
    }

    /// Returns the promise of the same forecast at the level of another index.
    pub(crate) const fn at_level(self, level_idx: usize) -> Self {
        Self { level_idx, ..self }
    }
}

/// The reason why nothing can be learned from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// The run time is zero or negative.
    #[error("the job never ran: its run time is {0} s")]
    NeverRan(Span),
}

impl Forecaster {
    /// Creates a forecaster without history that raises alarms by `triggers`.
    pub fn new(triggers: AlarmTriggers) -> Self {
        Self {
            triggers,
            ..Self::default()
        }
    }

    /// Forecasts the run time of `job` from the history so far.
    pub fn forecast(&self, job: &ForecastJob) -> Forecast {
        self.forecast_features(job.class, JobFeatures::of(job))
    }

    fn forecast_features(&self, job: ClassId, features: JobFeatures) -> Forecast {
        let Some(family) = self.classes.get(&job) else {
            return Forecast {
                details: ClassState::default().forecast(features, &self.pool),
                stage: ClassStage::Unseen,
                part: None,
                mode: 0,
                leader: None,
            };
        };
        let part = family.part_of(features.context());
        let class = family.part(part);
        Forecast {
            details: class.forecast(features, &self.pool),
            stage: class.stage(),
            part,
            mode: class.mode(),
            leader: Some(class.leader()),
        }
    }

    /// Learns from the error of an ended job's forecast, and judges all promises made by the
    /// forecast.
    ///
    /// # Errors
    /// [`LearnError`] if the job never ran; nothing is changed in this case.
    pub fn learn(
        &mut self,
        record: &CompletedJob,
        forecast: &Forecast,
    ) -> Result<ClassEvent, LearnError> {
        let event = self.learn_run(record, forecast)?;
        let promise = forecast.promise(record.job.class, 0);
        self.judge(
            &promise,
            forecast.distribution().quantiles(),
            record.runtime,
        );
        Ok(event)
    }

    /// Learns the run time of a job without judging its promises: for callers that judge each
    /// promise when it falls due ([`Self::judge`]), as [`crate::OnlineForecaster`] does.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_run(
        &mut self,
        record: &CompletedJob,
        forecast: &Forecast,
    ) -> Result<ClassEvent, LearnError> {
        let ln_run = ln_secs(record.runtime).ok_or(LearnError::NeverRan(record.runtime))?;
        let family = self.classes.entry(record.job.class).or_default();
        let event = family.learn(
            record,
            (&forecast.details, forecast.part, forecast.mode),
            ln_run,
            (&self.triggers, &self.pool),
            !self.whole,
        );
        let features = JobFeatures::of(&record.job);
        self.pool
            .learn(features, forecast.stage, &forecast.details, ln_run);
        Ok(event)
    }

    /// Records whether promises of one forecast were kept by a job that ran for `runtime`. These promises
    /// have these `bounds`, and the level of the `first` promise and the levels that follow. A promise should
    /// be judged when it falls due, its bound after the start of the job. Judging at the end of the job
    /// reports kept promises long before the broken promises of the same day, and bounds become too short in
    /// between.
    pub fn judge(&mut self, first: &BoundPromise, bounds: &[Span], runtime: Span) {
        let family = self.classes.get_mut(&first.class);
        let mut class = family.map(|family| family.part_mut(first.part));
        for (level_idx, bound) in (first.level_idx..).zip(bounds) {
            let kept = runtime <= *bound;
            if let Some(class) = &mut class {
                class.judge(level_idx, kept);
            }
            self.pool.judge(first.stage, level_idx, kept);
        }
    }

    /// Learns from a job without a forecast, as if it had been forecast just now.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_without_forecast(
        &mut self,
        record: &CompletedJob,
    ) -> Result<ClassEvent, LearnError> {
        let forecast = self.forecast(&record.job);
        self.learn(record, &forecast)
    }

    /// Returns the same forecaster, but one that never splits a class.
    #[must_use]
    pub fn without_splitting(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Returns the present behaviour of a class, or of each of its parts, and the forecast of a job
    /// with the same request as the latest one. Empty if no job of the class was learned. The rest
    /// of the class, whose jobs belong to no part, comes first.
    pub fn summaries(&self, class: ClassId) -> Vec<(ClassSummary, Forecast)> {
        let Some(family) = self.classes.get(&class) else {
            return Vec::new();
        };
        let known = family.parts().filter_map(|(part, model)| {
            let features = model.model().history().last_features()?;
            let forecast = Forecast {
                details: model.forecast(features, &self.pool),
                stage: model.stage(),
                part,
                mode: model.mode(),
                leader: Some(model.leader()),
            };
            let summary = ClassSummary::of(model, (family.split(), part), features.job(class));
            Some((summary, forecast))
        });
        known.collect()
    }

    /// Returns the classes with learned jobs, in ascending order.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.classes.keys().copied()
    }
}
