//! The forecaster of a site: learns from jobs that have ended, forecasts those that are handed in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Span};

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

/// Everything that was learned about the jobs of a site. Memory is constant a class.
///
/// [`Self::forecast`] at submission, [`Self::learn`] with what was said once the job has ended;
/// in between any number of other jobs may come. Serialises through [`crate::ForecasterSnapshot`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecaster {
    triggers: AlarmTriggers,
    classes: BTreeMap<ClassId, ClassTree>,
    whole: bool,
    pool: SitePrior,
}

/// What was said of a job when it was handed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    said: ForecastDetails,
    stage: ClassStage,
    part: ClassPart,
    mode: u32,
    leader: Option<Expert>,
}

impl Forecast {
    /// How long the job will run: the median of the experts, weighted by their success.
    pub fn point(&self) -> Span {
        span_of(self.said.point)
    }

    /// How long the job may run, with probabilities that were calibrated on earlier promises.
    /// Every quantile lies between a second and a hundred years.
    pub fn distribution(&self) -> Distribution {
        Distribution::new(self.said.bounds.map(span_of))
    }

    /// The value of the aspect that its class is split by, if it belongs to a part of it.
    pub const fn part(&self) -> Option<u32> {
        self.part
    }

    /// How well its class was known.
    pub const fn stage(&self) -> ClassStage {
        self.stage
    }

    /// The expert that had most of the votes; none for a class without history.
    pub const fn leader(&self) -> Option<Expert> {
        self.leader
    }

    /// The promise that its quantile at the level of this index is, made to a job of `class`.
    pub(crate) fn promise(&self, class: ClassId, level_idx: usize) -> BoundPromise {
        BoundPromise {
            class,
            part: self.part,
            stage: self.stage,
            level_idx,
        }
    }

    /// What one expert alone said, if it had anything to say.
    pub fn expert_forecast(&self, expert: Expert) -> Option<Span> {
        self.said.opinions[expert as usize].map(span_of)
    }
}

/// That a job takes at most as long as a quantile said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundPromise {
    class: ClassId,
    part: ClassPart,
    /// How well the class was known.
    stage: ClassStage,
    level_idx: usize,
}

/// Why nothing can be learned from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// Its run time is zero or negative.
    #[error("the job never ran: its run time is {0} s")]
    NeverRan(Span),
}

impl Forecaster {
    /// A forecaster that knows nothing yet and sounds alarms by `triggers`.
    pub fn new(triggers: AlarmTriggers) -> Self {
        Self {
            triggers,
            ..Self::default()
        }
    }

    /// How long `job` will take, by all that was learned so far.
    pub fn forecast(&self, job: &ForecastJob) -> Forecast {
        self.forecast_features(job.class, JobFeatures::of(job))
    }

    fn forecast_features(&self, job: ClassId, asked: JobFeatures) -> Forecast {
        let Some(family) = self.classes.get(&job) else {
            return Forecast {
                said: ClassState::default().forecast(asked, &self.pool),
                stage: ClassStage::Unseen,
                part: None,
                mode: 0,
                leader: None,
            };
        };
        let part = family.part_of(asked.context());
        let class = family.part(part);
        Forecast {
            said: class.forecast(asked, &self.pool),
            stage: class.stage(),
            part,
            mode: class.mode(),
            leader: Some(class.leader()),
        }
    }

    /// Learns from a job that has ended what was wrong with what was said of it at submission, and
    /// judges all that was promised of it.
    ///
    /// # Errors
    /// [`LearnError`] if it never ran; nothing is changed then.
    pub fn learn(
        &mut self,
        record: &CompletedJob,
        said: &Forecast,
    ) -> Result<ClassEvent, LearnError> {
        let event = self.learn_run(record, said)?;
        for (level_idx, bound) in said.distribution().quantiles().iter().enumerate() {
            let kept = record.runtime <= *bound;
            self.judge(&said.promise(record.job.class, level_idx), kept);
        }
        Ok(event)
    }

    /// Learns how long a job ran, and judges none of its promises: for callers that judge each
    /// when it falls due ([`Self::judge`]), as [`crate::OnlineForecaster`] does.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_run(
        &mut self,
        record: &CompletedJob,
        said: &Forecast,
    ) -> Result<ClassEvent, LearnError> {
        let ln_run = ln_secs(record.runtime).ok_or(LearnError::NeverRan(record.runtime))?;
        let family = self.classes.entry(record.job.class).or_default();
        let event = family.learn(
            record,
            (&said.said, said.part, said.mode),
            ln_run,
            (&self.triggers, &self.pool),
            !self.whole,
        );
        let asked = JobFeatures::of(&record.job);
        self.pool.learn(asked, said.stage, &said.said, ln_run);
        Ok(event)
    }

    /// Takes in whether a promise was kept. A promise is best judged when it falls due, `bound`
    /// after the start of the job: who judges at the end hears of kept promises long before the
    /// broken ones of the same day, and quotes too little in between.
    pub fn judge(&mut self, promise: &BoundPromise, kept: bool) {
        if let Some(family) = self.classes.get_mut(&promise.class) {
            let class = family.part_mut(promise.part);
            class.judge(promise.level_idx, kept);
        }
        self.pool.judge(promise.stage, promise.level_idx, kept);
    }

    /// Learns from a job of which nothing was said: as if it had been forecast just now.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_without_forecast(
        &mut self,
        record: &CompletedJob,
    ) -> Result<ClassEvent, LearnError> {
        let said = self.forecast(&record.job);
        self.learn(record, &said)
    }

    /// The same forecaster, but one that never splits a class.
    #[must_use]
    pub fn without_splitting(mut self) -> Self {
        self.whole = true;
        self
    }

    /// How a class, or each of its parts, behaves at present, and what is to be said of a job
    /// that asks for what the last one of it asked for; nothing if no job of it was learned. The
    /// jobs that belong to no part come first.
    pub fn summaries(&self, class: ClassId) -> Vec<(ClassSummary, Forecast)> {
        let Some(family) = self.classes.get(&class) else {
            return Vec::new();
        };
        let known = family.parts().filter_map(|(part, model)| {
            let asked = model.model().history().last_features()?;
            let forecast = Forecast {
                said: model.forecast(asked, &self.pool),
                stage: model.stage(),
                part,
                mode: model.mode(),
                leader: Some(model.leader()),
            };
            Some((ClassSummary::of(model, family.split(), part), forecast))
        });
        known.collect()
    }

    /// The classes of which jobs were learned, in ascending order.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.classes.keys().copied()
    }
}
