//! The forecast of one job.

use tollgate_forecast::{Belief, ClassId, ClassSummary, Forecast, ForecastJob, JobAttributes};
use tollgate_model::{Probability, Span};

use crate::class_key::ClassKey;
use crate::names::NameIds;
use crate::state::ForecastState;
use crate::statements::StatedClass;

/// A job in the words of records.
#[derive(Clone, Debug, Default)]
pub struct DescribedJob {
    /// The user.
    pub user: Option<String>,
    /// The group of the user.
    pub group: Option<String>,
    /// The account.
    pub account: Option<String>,
    /// The executable.
    pub executable: Option<String>,
    /// The queue.
    pub queue: Option<String>,
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The user's estimate of the run time.
    pub estimate: Option<Span>,
}

impl DescribedJob {
    /// Returns the value of a key. None if it is not stated.
    pub fn value(&self, key: ClassKey) -> Option<String> {
        match key {
            ClassKey::User => self.user.clone(),
            ClassKey::Group => self.group.clone(),
            ClassKey::Account => self.account.clone(),
            ClassKey::Executable => self.executable.clone(),
            ClassKey::Queue => self.queue.clone(),
            ClassKey::Procs => Some(self.procs.to_string()),
            ClassKey::Estimate => self.estimate.map(|estimate| estimate.to_string()),
        }
    }
}

/// A job with its forecasts.
#[derive(Clone, Debug)]
pub struct JobOutlook {
    /// The job in the terms of a forecaster. An unknown name has an unused number.
    pub job: ForecastJob,
    /// The stated belief.
    pub belief: Belief,
    /// The forecast of the job's class, which explains.
    pub forecast: Forecast,
    /// The class of the job, or its part, and how well statements about its jobs held. None if none has ended.
    pub class: Option<(ClassSummary, StatedClass)>,
}

impl JobOutlook {
    /// Returns the bound of the run time at a level. Where the job stays within its request as often as the level says,
    /// so does its bound.
    pub fn bound(&self, level: Probability) -> Span {
        let bound = self.belief.distribution.quantile(level);
        let within = self.belief.within_request.map_or(0.0, Probability::as_f64);
        let cap = self.job.request.filter(|_| level.as_f64() <= within);
        cap.map_or(bound, |request| bound.min(request))
    }
}

impl ForecastState {
    /// Forecasts a job that is submitted once all learned jobs have ended.
    pub fn outlook(&self, described: &DescribedJob) -> JobOutlook {
        let job = self.job(described);
        let forecast = self.runtime.forecast(&job);
        let summaries = self.runtime.summaries(job.class);
        let parts: Vec<Option<u32>> = summaries.iter().map(|(summary, _)| summary.part).collect();
        let summary = summaries
            .iter()
            .map(|(summary, _)| summary)
            .find(|summary| summary.part == forecast.part());
        JobOutlook {
            job,
            belief: self.belief(&job),
            class: summary.map(|summary| (*summary, self.statements.of(summary, &parts))),
            forecast,
        }
    }

    fn job(&self, described: &DescribedJob) -> ForecastJob {
        let names = &self.names;
        let keys = names.keys().iter();
        let values: Vec<Option<String>> = keys.map(|key| described.value(*key)).collect();
        // An unused number stands for an unknown class or name.
        let number = |name: &Option<String>, all: &NameIds<String>| {
            name.as_ref().map(|name| all.find(name).unwrap_or(u32::MAX))
        };
        ForecastJob {
            class: ClassId(names.classes.find(&values).unwrap_or(u32::MAX)),
            procs: described.procs,
            request: described.estimate,
            context: JobAttributes {
                executable: number(&described.executable, &names.executables),
                queue: number(&described.queue, &names.queues),
                account: number(&described.account, &names.accounts),
            },
        }
    }
}
