//! The classes of jobs that behave alike, and the labels of jobs within a class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, ForecastJob, JobAttributes};

use crate::command::Submission;

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

impl JobClasses {
    /// Returns a submission in the forecaster's terms. An unknown class is forecast from the whole site.
    pub(crate) fn find(&self, submission: &Submission) -> ForecastJob {
        let key = (submission.user, submission.name.clone());
        let class = self.classes.get(&key).copied();
        let label = |labels: &BTreeMap<String, u32>, text: &Option<String>| {
            let text = text.as_ref()?;
            Some(labels.get(text).copied().unwrap_or(UNKNOWN))
        };
        ForecastJob {
            class: class.unwrap_or(ClassId(UNKNOWN)),
            procs: submission.procs,
            request: submission.estimate,
            context: JobAttributes {
                executable: label(&self.executables, &submission.executable),
                queue: label(&self.queues, &submission.queue),
                account: label(&self.accounts, &submission.account),
            },
        }
    }

    /// Numbers the class and the labels of a submission, and returns it in the forecaster's terms.
    pub(crate) fn add(&mut self, submission: &Submission) -> ForecastJob {
        let next = ClassId(self.classes.len() as u32);
        let key = (submission.user, submission.name.clone());
        self.classes.entry(key).or_insert(next);
        for (labels, text) in [
            (&mut self.executables, &submission.executable),
            (&mut self.queues, &submission.queue),
            (&mut self.accounts, &submission.account),
        ] {
            let next = labels.len() as u32;
            if let Some(text) = text {
                labels.entry(text.clone()).or_insert(next);
            }
        }
        self.find(submission)
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
