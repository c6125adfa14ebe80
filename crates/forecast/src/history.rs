//! The remembered jobs of a class.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::record::{ForecastJob, JobAttributes, ln_secs};
use crate::window::{RollingWindow, conformal};

/// Number of remembered jobs.
pub(crate) const MAX_HISTORY: usize = 100;

/// The request of a job: jobs with the same request are look-alikes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobFeatures {
    procs: u32,
    /// The logarithm of the requested seconds.
    pub(crate) ln_request: Option<f64>,
    context: JobAttributes,
}

impl JobFeatures {
    pub(crate) const fn context(&self) -> &JobAttributes {
        &self.context
    }

    pub(crate) fn of(job: &ForecastJob) -> Self {
        Self {
            procs: job.procs,
            ln_request: job.request.and_then(ln_secs),
            context: job.context,
        }
    }
}

impl JobFeatures {
    fn has_same_request(self, other: Self) -> bool {
        self.procs == other.procs
            && self.ln_request == other.ln_request
            && self.context.queue == other.context.queue
    }

    fn has_same_executable(self, other: Self) -> bool {
        self.context.executable.is_some() && self.context.executable == other.context.executable
    }
}

/// The last jobs of a class, in the order in which they were learned; times are logarithms of
/// seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassHistory {
    runs: RollingWindow<MAX_HISTORY>,
    /// The request of each of `runs`.
    asked: Vec<JobFeatures>,
    /// Run time less request, of the jobs that had a request.
    ratios: RollingWindow<MAX_HISTORY>,
}

impl ClassHistory {
    pub(crate) fn push(&mut self, asked: JobFeatures, ln_run: f64) {
        if self.asked.len() == MAX_HISTORY {
            self.asked.remove(0);
        }
        self.asked.push(asked);
        self.runs.push(ln_run);
        if let Some(ln_request) = asked.ln_request {
            self.ratios.push(ln_run - ln_request);
        }
    }

    pub(crate) fn runs(&self) -> &RollingWindow<MAX_HISTORY> {
        &self.runs
    }

    pub(crate) fn ratios(&self) -> &RollingWindow<MAX_HISTORY> {
        &self.ratios
    }

    /// Returns the request of the last job.
    pub(crate) fn last_features(&self) -> Option<JobFeatures> {
        self.asked.last().copied()
    }

    /// Returns the run times of the jobs with the same request, latest first.
    pub(crate) fn similar_jobs(&self, asked: JobFeatures) -> impl Iterator<Item = f64> {
        self.runs_of(move |known| known.has_same_request(asked))
    }

    /// Returns the run times of the jobs with the same executable, latest first; none if the
    /// executable is unknown.
    pub(crate) fn same_executable(&self, asked: JobFeatures) -> impl Iterator<Item = f64> {
        self.runs_of(move |known| known.has_same_executable(asked))
    }

    fn runs_of(&self, wanted: impl Fn(JobFeatures) -> bool) -> impl Iterator<Item = f64> {
        let both = self.asked.iter().zip(self.runs.arrived()).rev();
        both.filter(move |(known, _)| wanted(**known))
            .map(|(_, run)| *run)
    }
}

/// The run times of look-alikes in ascending order, for quantiles.
pub(crate) struct SimilarJobs<'a>(Cow<'a, [f64]>);

impl<'a> SimilarJobs<'a> {
    pub(crate) fn of(history: &'a ClassHistory, asked: JobFeatures) -> Self {
        let mut sorted: Vec<f64> = history.similar_jobs(asked).collect();
        if sorted.len() == history.runs.len() {
            return Self(Cow::Borrowed(history.runs.sorted()));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Self(Cow::Owned(sorted))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn quantile(&self, level: f64) -> Option<f64> {
        conformal(&self.0, level)
    }
}
