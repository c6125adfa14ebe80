//! The forecaster of a site: learns from jobs that have ended, forecasts those that are handed in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Span};

use crate::class::{Class, Event};
use crate::expert::Expert;
use crate::history::Asked;
use crate::mode::Triggers;
use crate::model::Said;
use crate::pool::Pool;
use crate::record::{ClassId, Job, Record, ln_secs, span_of};
use crate::stage::Stage;

/// Everything that was learned about the jobs of a site. Memory is constant a class.
///
/// [`Self::forecast`] at submission, [`Self::learn`] with what was said once the job has ended;
/// in between any number of other jobs may come. Serialises through [`crate::Saved`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecaster {
    triggers: Triggers,
    classes: BTreeMap<ClassId, Class>,
    pool: Pool,
}

/// What was said of a job when it was handed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    said: Said,
    stage: Stage,
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

    /// How well its class was known.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The expert that had most of the votes; none for a class without history.
    pub const fn leader(&self) -> Option<Expert> {
        self.leader
    }

    /// What one expert alone said, if it had anything to say.
    pub fn opinion(&self, expert: Expert) -> Option<Span> {
        self.said.opinions[expert as usize].map(span_of)
    }
}

/// Why nothing can be learned from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Its run time is zero or negative.
    #[error("the job never ran: its run time is {0} s")]
    NeverRan(Span),
}

/// How a class behaves at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many jobs were learned.
    pub jobs: u64,
    /// How well it is known.
    pub stage: Stage,
    /// How many modes came before the present one.
    pub mode: u32,
    /// The expert that has most of the votes.
    pub leader: Expert,
}

impl Forecaster {
    /// A forecaster that knows nothing yet and sounds alarms by `triggers`.
    pub fn new(triggers: Triggers) -> Self {
        Self {
            triggers,
            ..Self::default()
        }
    }

    /// How long `job` will take, by all that was learned so far.
    pub fn forecast(&self, job: &Job) -> Forecast {
        let asked = Asked::of(job);
        match self.classes.get(&job.class) {
            Some(class) => Forecast {
                said: class.say(asked, &self.pool),
                stage: class.stage(),
                mode: class.mode(),
                leader: Some(class.leader()),
            },
            None => Forecast {
                said: Class::default().say(asked, &self.pool),
                stage: Stage::Unseen,
                mode: 0,
                leader: None,
            },
        }
    }

    /// Learns from a job that has ended what was wrong with what was said of it at submission.
    ///
    /// # Errors
    /// [`Unusable`] if it never ran; nothing is changed then.
    pub fn learn(&mut self, record: &Record, said: &Forecast) -> Result<Event, Unusable> {
        let ln_run = ln_secs(record.runtime).ok_or(Unusable::NeverRan(record.runtime))?;
        let asked = Asked::of(&record.job);
        let class = self.classes.entry(record.job.class).or_default();
        // What an earlier mode said says nothing about the experts of the present one.
        let present = (said.mode != class.mode()).then(|| class.say(asked, &self.pool));
        let votes = present.as_ref().unwrap_or(&said.said);
        let event = class.learn(asked, votes, ln_run, (&self.triggers, &self.pool));
        self.pool.learn(asked, said.stage, &said.said, ln_run);
        Ok(event)
    }

    /// Learns from a job of which nothing was said: as if it had been forecast just now.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_unforecast(&mut self, record: &Record) -> Result<Event, Unusable> {
        let said = self.forecast(&record.job);
        self.learn(record, &said)
    }

    /// How a class behaves at present; none if no job of it was learned.
    pub fn summary(&self, class: ClassId) -> Option<Summary> {
        self.classes.get(&class).map(|class| Summary {
            jobs: class.learned(),
            stage: class.stage(),
            mode: class.mode(),
            leader: class.leader(),
        })
    }

    /// The classes of which jobs were learned, in ascending order.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.classes.keys().copied()
    }
}
