//! The largest series, job by job, for pictures.

use std::collections::BTreeMap;

use tollgate_forecast::{
    Belief, ClassEvent, ClassId, CompletedJob, EvaluationObserver, Forecast, JobFeedback,
};
use tollgate_model::Span;

/// The maximum number of series that are drawn.
const MAX_SERIES: usize = 12;
/// The number of last jobs that are drawn of each series.
pub const MAX_JOBS_PER_SERIES: usize = 400;

/// A job of a series.
#[derive(Clone, Copy, Debug)]
pub struct SeriesPoint {
    /// The place of the job in the record, from 0.
    pub nth: u64,
    /// The run time.
    pub runtime: Span,
    /// The stated median.
    pub point: Span,
    /// The bound at 0.90.
    pub bound: Span,
    /// The event that the job caused in its class when it ended.
    pub event: ClassEvent,
}

/// An observer that keeps the last jobs of the largest series.
#[derive(Clone, Debug)]
pub struct SeriesRecorder(pub BTreeMap<ClassId, Vec<SeriesPoint>>);

impl SeriesRecorder {
    pub(super) fn of(records: &[CompletedJob], fewest: usize) -> Self {
        let mut jobs_of = BTreeMap::<ClassId, usize>::new();
        for record in records {
            *jobs_of.entry(record.job.class).or_default() += 1;
        }
        let mut largest: Vec<(ClassId, usize)> = jobs_of.into_iter().collect();
        largest.retain(|(_, jobs)| *jobs >= fewest);
        largest.sort_by_key(|(class, jobs)| (std::cmp::Reverse(*jobs), *class));
        let drawn = largest.into_iter().take(MAX_SERIES);
        Self(drawn.map(|(class, _)| (class, Vec::new())).collect())
    }
}

impl EvaluationObserver for SeriesRecorder {
    fn forecast(&mut self, nth: u64, record: &CompletedJob, belief: &Belief, _forecast: &Forecast) {
        let Some(steps) = self.0.get_mut(&record.job.class) else {
            return;
        };
        // Up to twice as many jobs are kept, and then the older half is dropped. The amortised cost
        // is negligible.
        if steps.len() == 2 * MAX_JOBS_PER_SERIES {
            steps.drain(..MAX_JOBS_PER_SERIES);
        }
        steps.push(SeriesPoint {
            nth,
            runtime: record.runtime,
            point: belief.distribution.median(),
            bound: belief.distribution.quantiles()[9],
            event: ClassEvent::Usual,
        });
    }

    fn learned(&mut self, learned: &JobFeedback) {
        let steps = self.0.get_mut(&learned.record.job.class);
        let Some(steps) = steps else { return };
        if let Ok(place) = steps.binary_search_by_key(&learned.nth, |step| step.nth) {
            steps[place].event = learned.event;
        }
    }
}
