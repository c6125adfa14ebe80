//! The remembered jobs of a class.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::record::{ClassId, ForecastJob, JobAttributes, ln_secs, span_of};
use crate::window::RollingWindow;

/// Number of remembered jobs.
pub(crate) const MAX_HISTORY: usize = 100;

/// The requested resources of a job, and its attributes.
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

    /// Returns the job of a class with these features.
    pub(crate) fn job(&self, class: ClassId) -> ForecastJob {
        ForecastJob {
            class,
            procs: self.procs,
            request: self.ln_request.map(span_of),
            context: self.context,
        }
    }

    pub(crate) fn of(job: &ForecastJob) -> Self {
        Self {
            procs: job.procs,
            ln_request: job.request.and_then(ln_secs),
            context: job.context,
        }
    }
}

/// The request of a job, by which jobs are look-alikes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JobRequest {
    procs: u32,
    ln_request: Option<f64>,
    queue: Option<u32>,
}

impl JobFeatures {
    const fn request(self) -> JobRequest {
        JobRequest {
            procs: self.procs,
            ln_request: self.ln_request,
            queue: self.context.queue,
        }
    }
}

/// The last jobs of a class, in the order in which they were learned; times are logarithms of
/// seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "StoredHistory")]
pub(crate) struct ClassHistory {
    runs: RollingWindow<MAX_HISTORY>,
    /// The request of each of `runs`.
    #[serde(rename = "asked")]
    features: VecDeque<JobFeatures>,
    /// Run time less request, of the jobs that had a request.
    ratios: RollingWindow<MAX_HISTORY>,
    /// The same run times as in `runs`, by request. No window is empty.
    #[serde(skip)]
    alike: Vec<(JobRequest, RollingWindow<MAX_HISTORY>)>,
    /// The last of `runs`.
    #[serde(skip)]
    last_five: RollingWindow<5>,
    /// The last of `runs`.
    #[serde(skip)]
    last_twenty: RollingWindow<20>,
}

/// A history without what follows from the rest.
#[derive(Deserialize)]
struct StoredHistory {
    runs: RollingWindow<MAX_HISTORY>,
    #[serde(rename = "asked")]
    features: VecDeque<JobFeatures>,
    ratios: RollingWindow<MAX_HISTORY>,
}

impl From<StoredHistory> for ClassHistory {
    fn from(stored: StoredHistory) -> Self {
        let mut history = Self {
            runs: stored.runs,
            features: stored.features,
            ratios: stored.ratios,
            alike: Vec::new(),
            last_five: RollingWindow::default(),
            last_twenty: RollingWindow::default(),
        };
        for (features, run) in history.features.iter().zip(history.runs.arrived()) {
            add_similar(&mut history.alike, features.request(), *run);
        }
        for run in history.runs.arrived() {
            history.last_five.push(*run);
            history.last_twenty.push(*run);
        }
        history
    }
}

/// Histories are equal if they have the same jobs; the order of the requests does not matter.
impl PartialEq for ClassHistory {
    fn eq(&self, other: &Self) -> bool {
        self.runs == other.runs && self.features == other.features && self.ratios == other.ratios
    }
}

impl ClassHistory {
    pub(crate) fn push(&mut self, features: JobFeatures, ln_run: f64) {
        if self.features.len() == MAX_HISTORY
            && let Some(oldest) = self.features.pop_front()
        {
            self.forget_similar(oldest.request());
        }
        self.features.push_back(features);
        self.runs.push(ln_run);
        self.last_five.push(ln_run);
        self.last_twenty.push(ln_run);
        add_similar(&mut self.alike, features.request(), ln_run);
        if let Some(ln_request) = features.ln_request {
            self.ratios.push(ln_run - ln_request);
        }
    }

    fn forget_similar(&mut self, request: JobRequest) {
        let place = self.alike.iter().position(|(known, _)| *known == request);
        if let Some(place) = place {
            let runs = &mut self.alike[place].1;
            runs.forget_oldest();
            if runs.len() == 0 {
                self.alike.swap_remove(place);
            }
        }
    }

    pub(crate) fn runs(&self) -> &RollingWindow<MAX_HISTORY> {
        &self.runs
    }

    /// Returns the last five of the run times.
    pub(crate) fn last_five(&self) -> &RollingWindow<5> {
        &self.last_five
    }

    /// Returns the last twenty of the run times.
    pub(crate) fn last_twenty(&self) -> &RollingWindow<20> {
        &self.last_twenty
    }

    pub(crate) fn ratios(&self) -> &RollingWindow<MAX_HISTORY> {
        &self.ratios
    }

    /// Returns the request of the last job.
    pub(crate) fn last_features(&self) -> Option<JobFeatures> {
        self.features.back().copied()
    }

    /// Returns the run times of the jobs with the same request, if there are any.
    pub(crate) fn similar_jobs(
        &self,
        features: JobFeatures,
    ) -> Option<&RollingWindow<MAX_HISTORY>> {
        let request = features.request();
        let known = self.alike.iter().find(|(known, _)| *known == request);
        known.map(|(_, runs)| runs)
    }

    /// Returns the run times of the jobs with the same executable, latest first; none if the
    /// executable is unknown.
    pub(crate) fn same_executable(&self, features: JobFeatures) -> impl Iterator<Item = f64> {
        let executable = features.context.executable;
        let jobs = self.features.iter().zip(self.runs.arrived()).rev();
        let jobs = executable.into_iter().flat_map(move |_| jobs.clone());
        jobs.filter(move |(known, _)| known.context.executable == executable)
            .map(|(_, run)| *run)
    }
}

fn add_similar(
    alike: &mut Vec<(JobRequest, RollingWindow<MAX_HISTORY>)>,
    request: JobRequest,
    ln_run: f64,
) {
    match alike.iter_mut().find(|(known, _)| *known == request) {
        Some((_, runs)) => runs.push(ln_run),
        None => alike.push((request, RollingWindow::from(vec![ln_run]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn features(procs: u32) -> JobFeatures {
        JobFeatures {
            procs,
            ln_request: Some(f64::from(procs % 3)),
            context: JobAttributes::default(),
        }
    }

    proptest! {
        #[test]
        fn similar_and_last_jobs_are_those_of_a_scan(
            jobs in prop::collection::vec((0u32..5, 0.0..9.0f64), 0..300),
        ) {
            let mut history = ClassHistory::default();
            for &(procs, ln_run) in &jobs {
                history.push(features(procs), ln_run);
            }
            let text = serde_json::to_string(&history).unwrap();
            let stored: ClassHistory = serde_json::from_str(&text).unwrap();
            let recent = &jobs[jobs.len().saturating_sub(MAX_HISTORY)..];
            for procs in 0..5 {
                let alike = recent.iter().filter(|(known, _)| *known == procs);
                let runs: Vec<f64> = alike.map(|(_, run)| *run).collect();
                for history in [&history, &stored] {
                    let found = history.similar_jobs(features(procs));
                    let found = found.map_or(&[][..], RollingWindow::arrived);
                    prop_assert_eq!(found, &runs[..]);
                }
            }
            for history in [&history, &stored] {
                let runs = history.runs().arrived();
                let last = |n| &runs[runs.len().saturating_sub(n)..];
                prop_assert_eq!(history.last_five().arrived(), last(5));
                prop_assert_eq!(history.last_twenty().arrived(), last(20));
            }
        }
    }
}
