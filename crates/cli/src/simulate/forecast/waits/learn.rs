//! The queue at the end of a record.

use tollgate_forecast::wait::{WaitEventKind, WaitForecaster, wait_events};
use tollgate_model::Instant;

use super::records::WaitJobs;
use crate::output::progress::{CountProgress, ProgressIterator};

/// A queue at an instant, with the forecaster that has seen all events up to it.
pub(super) struct QueueAtEnd {
    pub(super) at: Instant,
    pub(super) forecaster: WaitForecaster,
}

/// Returns the queue at the last submission of the record. Later events are in the record for some jobs alone, so they
/// are not learned.
pub(super) fn queue_at_end(jobs: &WaitJobs) -> QueueAtEnd {
    let at = jobs
        .records
        .last()
        .map_or(Instant::ZERO, |last| last.queued);
    let events = wait_events(&jobs.records);
    let n_known = events.partition_point(|event| event.at <= at);
    let progress = CountProgress::on_terminal(n_known as u64, "events");
    let mut forecaster = WaitForecaster::default();
    for event in ProgressIterator::new(events[..n_known].iter(), progress.as_ref()) {
        let id = event.job as u64;
        forecaster.advance(event.at);
        match event.kind {
            WaitEventKind::Queued => {
                forecaster.submit(event.at, id, jobs.records[event.job].job);
            }
            WaitEventKind::Started => forecaster.start(event.at, id),
            WaitEventKind::Ended => forecaster.end(event.at, id),
            WaitEventKind::Cancelled => forecaster.cancel(id),
        }
        while let Some(refit) = forecaster.refit_due(event.at) {
            forecaster.install(refit.run());
        }
    }
    QueueAtEnd { at, forecaster }
}
