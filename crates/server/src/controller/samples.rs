//! Samples of what is expected of each unfinished job, as time goes by.
//!
//! One look ahead serves all jobs that are due for a sample. A job is due more rarely the older it is, so that its number of
//! samples grows with the logarithm of its age. Looks are rarer the more jobs there are: they take about a hundredth of a
//! processor at most.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_model::{Instant, Span};
use tollgate_store::SampleRow;

use super::state::Controller;

/// The least time between two looks, and between two samples of a job.
const LEAST_INTERVAL: Span = Span::from_secs(2);
/// The greatest time between two samples of a job.
const MOST_INTERVAL: Span = Span::from_secs(600);
/// The part of its age after which a job is due again.
const PART_OF_AGE: i64 = 32;
/// The time between two looks for each unfinished job: a hundred times its part of a look.
const INTERVAL_OF_JOB: Span = Span::from_micros(5_000);

/// The jobs that have samples, and the time of the next look.
#[derive(Debug, Default)]
pub(super) struct SampleSchedule {
    next: Option<Instant>,
    sampled: BTreeMap<u64, SampledJob>,
}

/// An unfinished job.
#[derive(Clone, Copy, Debug)]
struct SampledJob {
    since: Instant,
    last: Instant,
}

impl SampledJob {
    /// Returns the instant at which the job is due for a sample.
    fn due(self) -> Instant {
        let age = self.last.since(self.since).as_micros() / PART_OF_AGE;
        self.last + Span::from_micros(age).clamp(LEAST_INTERVAL, MOST_INTERVAL)
    }
}

impl SampleSchedule {
    /// Returns the time of the next look; None without unfinished jobs.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl<E: Engine> Controller<E> {
    /// Takes samples if it is time to. Nothing depends on them, so a failure is only logged.
    pub(super) fn take_samples(&mut self, at: Instant) {
        if self.samples.next.is_some_and(|next| at < next) || self.disk_full {
            return;
        }
        let unfinished = self.core.jobs();
        self.samples
            .sampled
            .retain(|job, _| unfinished.contains_key(job));
        let sampled = &self.samples.sampled;
        let is_due = |job: &u64| sampled.get(job).is_none_or(|known| known.due() <= at);
        let due: Vec<(u64, Option<u32>)> = unfinished
            .keys()
            .filter(|job| is_due(job))
            .map(|&job| (job, None))
            .collect();
        let predictions = match due.as_slice() {
            [] => Vec::new(),
            due => self.core.predict_all(at, due),
        };
        let mut samples = Vec::new();
        for (&(job, _), prediction) in due.iter().zip(&predictions) {
            samples.extend(
                prediction
                    .as_ref()
                    .map(|known| (job, SampleRow::new(at, known))),
            );
            let submitted = self.core.job(job).map(|live| live.submitted);
            let since = self.samples.sampled.get(&job).map(|known| known.since);
            let sampled = SampledJob {
                since: since.or(submitted).unwrap_or(at),
                last: at,
            };
            self.samples.sampled.insert(job, sampled);
        }
        if !samples.is_empty()
            && let Err(error) = self.store.add_samples(&samples)
        {
            tracing::warn!("samples of forecasts were not stored: {error}");
        }
        let next_due = self.samples.sampled.values().map(|known| known.due()).min();
        let rest = Span::from_micros(INTERVAL_OF_JOB.as_micros() * unfinished.len() as i64);
        let rest = rest.clamp(LEAST_INTERVAL, MOST_INTERVAL);
        self.samples.next = next_due.map(|due| due.max(at + rest));
    }
}
