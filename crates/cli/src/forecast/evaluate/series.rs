//! What happened to the largest series, job by job, for pictures.

use std::collections::BTreeMap;

use tollgate_forecast::{ClassId, Event, Forecast, Learned, Record, Witness};
use tollgate_model::Span;

/// How many series are drawn.
const DRAWN: usize = 12;
/// How many of the last jobs of each.
pub(super) const LAST: usize = 400;

/// A job of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) nth: u64,
    pub(crate) runtime: Span,
    pub(crate) point: Span,
    /// The bound at 0.90.
    pub(crate) bound: Span,
    /// What it told, once it had ended.
    pub(crate) event: Event,
}

/// The last jobs of the largest series.
pub(crate) struct Paths(pub(crate) BTreeMap<ClassId, Vec<Step>>);

impl Paths {
    pub(super) fn of(records: &[Record], fewest: usize) -> Self {
        let mut jobs_of = BTreeMap::<ClassId, usize>::new();
        for record in records {
            *jobs_of.entry(record.job.class).or_default() += 1;
        }
        let mut largest: Vec<(ClassId, usize)> = jobs_of.into_iter().collect();
        largest.retain(|(_, jobs)| *jobs >= fewest);
        largest.sort_by_key(|(class, jobs)| (std::cmp::Reverse(*jobs), *class));
        let drawn = largest.into_iter().take(DRAWN);
        Self(drawn.map(|(class, _)| (class, Vec::new())).collect())
    }
}

impl Witness for Paths {
    fn forecast(&mut self, nth: u64, record: &Record, said: &Forecast) {
        let Some(steps) = self.0.get_mut(&record.job.class) else {
            return;
        };
        // Twice as many are kept before half of them is dropped: that costs nothing.
        if steps.len() == 2 * LAST {
            steps.drain(..LAST);
        }
        steps.push(Step {
            nth,
            runtime: record.runtime,
            point: said.point(),
            bound: said.distribution().quantiles()[9],
            event: Event::Usual,
        });
    }

    fn learned(&mut self, learned: &Learned) {
        let steps = self.0.get_mut(&learned.record.job.class);
        let Some(steps) = steps else { return };
        if let Ok(place) = steps.binary_search_by_key(&learned.nth, |step| step.nth) {
            steps[place].event = learned.event;
        }
    }
}
