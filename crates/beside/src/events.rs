//! Observations as events of single jobs, in order of time.

use tollgate_model::Instant;

use crate::job::{SeenJob, SeenJobKey};
use crate::open::{FollowedJob, key_order};

/// An event of a job. Events of one job are in the order of the kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowedEvent {
    pub(crate) at: Instant,
    /// The instant from which the wait of the job counts.
    queued: Instant,
    pub(crate) key: SeenJobKey,
    pub(crate) kind: FollowedEventKind,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FollowedEventKind {
    Queued,
    Started,
    Ended,
    Cancelled,
}

/// Returns the events of a job that are not known yet, given what is known of the job.
pub(crate) fn new_events(
    job: &SeenJob,
    known: Option<&FollowedJob>,
    now: Instant,
) -> Vec<FollowedEvent> {
    let mut events = Vec::new();
    let known_queued = known.and_then(|known| known.queued);
    // A job that may start only later is not in the queue yet.
    let held_at = known.and_then(|known| known.held_at);
    let fresh = job.queued().map(|queued| {
        let released = held_at.map_or(queued, |held| held.max(queued));
        job.started
            .map_or(released, |started| released.min(started))
    });
    let queued = known_queued.or_else(|| fresh.filter(|queued| *queued <= now));
    let order = queued.unwrap_or(job.submitted);
    let mut push = |at, kind| {
        events.push(FollowedEvent {
            at,
            queued: order,
            key: job.key.clone(),
            kind,
        });
    };
    if let (None, Some(queued)) = (known_queued, queued) {
        push(queued, FollowedEventKind::Queued);
    }
    let known_start = known.and_then(|known| known.started);
    if let (None, Some(started)) = (known_start, job.started) {
        push(started.max(order), FollowedEventKind::Started);
    }
    if let Some(ended) = job.ended {
        let kind = match known_start.or(job.started) {
            Some(_) => FollowedEventKind::Ended,
            None => FollowedEventKind::Cancelled,
        };
        push(ended.max(job.started.unwrap_or(order)), kind);
    }
    events
}

/// Sorts events by time. Events of one instant are in order of the jobs, so that a statement sees those of earlier jobs
/// alone.
pub(crate) fn sort(events: &mut [FollowedEvent]) {
    events.sort_by(|a, b| {
        let order = |event: &FollowedEvent| (event.at, event.queued);
        order(a)
            .cmp(&order(b))
            .then_with(|| key_order(&a.key).cmp(&key_order(&b.key)))
            .then_with(|| a.kind.cmp(&b.kind))
    });
}
