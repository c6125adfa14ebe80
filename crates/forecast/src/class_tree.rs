//! A class of jobs, whole or split into parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::change_point::AlarmTriggers;
use crate::class::{ClassEvent, ClassState};
use crate::history::JobFeatures;
use crate::model::ForecastDetails;
use crate::record::{CompletedJob, JobAttributes};
use crate::site_prior::SitePrior;
use crate::split::{ClassSplitter, SplitAspect};

/// A class with its parts, if it has been split. Its size is bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassTree {
    /// The state of all jobs, or of those that belong to no part.
    whole: ClassState,
    parts: BTreeMap<u32, ClassState>,
    splitter: ClassSplitter,
}

/// A part of a class: the jobs with this value of the split aspect; None for the rest, or for all
/// jobs.
pub(crate) type ClassPart = Option<u32>;

impl ClassTree {
    /// Returns the aspect by which the class is split.
    pub(crate) fn split(&self) -> Option<SplitAspect> {
        self.splitter.split()
    }

    /// Returns the part to which a job belongs.
    pub(crate) fn part_of(&self, context: &JobAttributes) -> ClassPart {
        let value = self.split()?.of(context)?;
        self.parts.contains_key(&value).then_some(value)
    }

    /// Returns a part; the rest if the part no longer exists.
    pub(crate) fn part(&self, part: ClassPart) -> &ClassState {
        let known = part.and_then(|value| self.parts.get(&value));
        known.unwrap_or(&self.whole)
    }

    pub(crate) fn part_mut(&mut self, part: ClassPart) -> &mut ClassState {
        let known = part.and_then(|value| self.parts.get_mut(&value));
        known.unwrap_or(&mut self.whole)
    }

    /// Returns the rest, then the parts in order of their values.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (ClassPart, &ClassState)> {
        let parts = self
            .parts
            .iter()
            .map(|(value, class)| (Some(*value), class));
        std::iter::once((None, &self.whole)).chain(parts)
    }

    /// Learns from a job whose forecast `details` came from the part that the job belonged to then.
    pub(crate) fn learn(
        &mut self,
        record: &CompletedJob,
        details: (&ForecastDetails, ClassPart, u32),
        ln_run: f64,
        (triggers, pool): (&AlarmTriggers, &SitePrior),
        splitting: bool,
    ) -> ClassEvent {
        let features = JobFeatures::of(&record.job);
        let part = self.part_of(&record.job.context);
        let class = self.part_mut(part);
        let (details, forecast_by, mode) = details;
        // A forecast by another model says nothing about the experts of the present one.
        let other = forecast_by != part || mode != class.mode();
        let present = other.then(|| class.forecast(features, pool));
        let votes = present.as_ref().unwrap_or(details);
        let event = class.learn((features, record.submit), votes, ln_run, (triggers, pool));
        if splitting {
            self.split_or_merge(&record.job.context, ln_run);
        }
        event
    }

    /// Splits or merges the class if due. A part begins as a copy of the rest, so that it never
    /// starts cold.
    fn split_or_merge(&mut self, context: &JobAttributes, ln_run: f64) {
        if self.splitter.learn(context, ln_run) {
            self.parts.clear();
        }
        let value = self.split().and_then(|aspect| aspect.of(context));
        if let Some(value) = value.filter(|value| self.splitter.is_part(*value)) {
            let whole = &self.whole;
            self.parts.entry(value).or_insert_with(|| whole.fork());
        }
        if self.parts.len() > MAX_PARTS {
            let least = self.parts.iter().min_by_key(|(_, class)| class.n_learned());
            if let Some(value) = least.map(|(value, _)| *value) {
                self.parts.remove(&value);
            }
        }
    }
}

/// Maximum number of parts of a class; beyond it the part with the fewest jobs joins the rest.
const MAX_PARTS: usize = 24;
