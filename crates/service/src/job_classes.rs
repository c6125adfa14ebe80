//! The classes of jobs that behave alike, and the labels of jobs within a class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, ForecastJob, JobAttributes};
use tollgate_model::Span;

use crate::command::Submission;
use crate::run_record::RunRecord;

/// A number that no class and no label has.
const UNKNOWN: u32 = u32::MAX;

/// The numbers of classes and labels, as the forecaster knows them. Numbers are given in the order of
/// the first admission.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct JobClasses {
    /// By user and name of the jobs.
    classes: BTreeMap<(u32, String), ClassId>,
    executables: BTreeMap<String, u32>,
    queues: BTreeMap<String, u32>,
    accounts: BTreeMap<String, u32>,
    /// The number of failures of each class that has any.
    failures: BTreeMap<ClassId, u64>,
}

/// The facts about a job that its forecast depends on.
pub(crate) struct JobFacts<'a> {
    user: u32,
    name: &'a str,
    executable: Option<&'a str>,
    account: Option<&'a str>,
    queue: Option<&'a str>,
    procs: u32,
    estimate: Option<Span>,
}

impl JobFacts<'_> {
    fn class_key(&self) -> (u32, String) {
        (self.user, self.name.to_owned())
    }
}

impl<'a> From<&'a Submission> for JobFacts<'a> {
    fn from(submission: &'a Submission) -> Self {
        Self {
            user: submission.user,
            name: &submission.name,
            executable: submission.executable.as_deref(),
            account: submission.account.as_deref(),
            queue: submission.queue.as_deref(),
            procs: submission.procs,
            estimate: submission.request(),
        }
    }
}

impl<'a> From<&'a RunRecord> for JobFacts<'a> {
    fn from(record: &'a RunRecord) -> Self {
        Self {
            user: record.user,
            name: &record.name,
            executable: record.executable.as_deref(),
            account: record.account.as_deref(),
            queue: record.queue.as_deref(),
            procs: record.procs,
            estimate: record.estimate,
        }
    }
}

impl JobClasses {
    /// Returns a job in the forecaster's terms. An unknown class is forecast from the whole site.
    pub(crate) fn find(&self, job: &JobFacts<'_>) -> ForecastJob {
        let class = self.classes.get(&job.class_key()).copied();
        let label = |labels: &BTreeMap<String, u32>, text: Option<&str>| {
            Some(labels.get(text?).copied().unwrap_or(UNKNOWN))
        };
        ForecastJob {
            class: class.unwrap_or(ClassId(UNKNOWN)),
            procs: job.procs,
            request: job.estimate,
            context: JobAttributes {
                executable: label(&self.executables, job.executable),
                queue: label(&self.queues, job.queue),
                account: label(&self.accounts, job.account),
            },
        }
    }

    /// Numbers the class and the labels of a job, and returns it in the forecaster's terms.
    pub(crate) fn add(&mut self, job: &JobFacts<'_>) -> ForecastJob {
        let next = ClassId(self.classes.len() as u32);
        self.classes.entry(job.class_key()).or_insert(next);
        for (labels, text) in [
            (&mut self.executables, job.executable),
            (&mut self.queues, job.queue),
            (&mut self.accounts, job.account),
        ] {
            let next = labels.len() as u32;
            if let Some(text) = text {
                labels.entry(text.to_owned()).or_insert(next);
            }
        }
        self.find(job)
    }

    /// Returns the number of failures of jobs of the class.
    pub(crate) fn n_failures(&self, class: ClassId) -> u64 {
        self.failures.get(&class).copied().unwrap_or(0)
    }

    /// Counts a failure of a job of the class.
    pub(crate) fn count_failure(&mut self, class: ClassId) {
        *self.failures.entry(class).or_default() += 1;
    }
}
