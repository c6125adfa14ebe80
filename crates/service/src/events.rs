//! What has happened to jobs, in the order in which it was committed, for those who want to be told:
//! the latest of it, and no more than that.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tollgate_gate::JobEnding;
use tollgate_model::Instant;

use crate::core::{AdmissionState, RowChange};

/// How many events are remembered. Some hundred bytes each.
const MAX_EVENTS: usize = 16_384;

/// The name of an event: which batch of the store it was committed with, and its place among what
/// followed from that. They grow, over restarts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    /// The number of the batch.
    pub batch: i64,
    /// From 0.
    pub index: u32,
}

/// Words that name no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of an event")]
pub struct BadEventId;

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventEntry {
    /// Its name.
    pub id: EventId,
    /// When it was committed.
    pub at: Instant,
    /// What: one word that does not change.
    pub kind: &'static str,
    /// To which job.
    pub job: u64,
    /// To which tasks of it; none if to all.
    pub tasks: Option<EventTasks>,
    /// Whether nothing more will happen to the job.
    pub is_last: bool,
}

/// Some tasks of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTasks {
    /// One.
    One(u32),
    /// Several, as in `1-5,9`.
    Some(Box<str>),
}

/// What was asked for is not remembered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventGap {
    /// From here on nothing is missing.
    pub from: EventId,
}

/// The latest events. Clones are the same log.
#[derive(Clone, Debug)]
pub struct EventLog {
    ring: Arc<Mutex<EventRing>>,
    latest: watch::Sender<LogPosition>,
}

/// How far the log has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The last event.
    pub id: EventId,
    /// Whether the service stops: there will be no more.
    pub closed: bool,
}

#[derive(Debug)]
struct EventRing {
    events: VecDeque<EventEntry>,
    /// The last one that was forgotten, or may have been.
    last_dropped: EventId,
}

impl EventLog {
    /// A log that begins after a batch: of what was committed until then it knows nothing.
    pub fn after_batch(batch: i64) -> Self {
        let forgotten = EventId {
            batch,
            index: u32::MAX,
        };
        let latest = LogPosition {
            id: forgotten,
            closed: false,
        };
        Self {
            ring: Arc::new(Mutex::new(EventRing {
                events: VecDeque::new(),
                last_dropped: forgotten,
            })),
            latest: watch::Sender::new(latest),
        }
    }

    /// Adds what followed from a batch, and tells those who wait.
    pub fn publish(&self, batch: i64, at: Instant, changes: &[RowChange]) {
        let mut last = None;
        {
            let mut ring = self.ring();
            for (event, place) in changes.iter().filter_map(event_of).zip(0..) {
                let id = EventId {
                    batch,
                    index: place,
                };
                ring.push(EventEntry { id, at, ..event });
                last = Some(id);
            }
        }
        if let Some(id) = last {
            self.latest.send_modify(|latest| latest.id = id);
        }
    }

    /// Says that there will be no more.
    pub fn close(&self) {
        self.latest.send_modify(|latest| latest.closed = true);
    }

    /// Returns once there will be no more.
    pub async fn closed(&self) {
        let mut latest = self.watch();
        // The sender is this very log's, so that waiting does not fail.
        let _ = latest.wait_for(|latest| latest.closed).await;
    }

    /// How far it has come, now and later.
    pub fn watch(&self) -> watch::Receiver<LogPosition> {
        self.latest.subscribe()
    }

    /// At most so many events after this one, in order.
    ///
    /// # Errors
    /// If one of them is not remembered any more, or the id is none of ours.
    pub fn events_after(&self, id: EventId, most: usize) -> Result<Vec<EventEntry>, EventGap> {
        let ring = self.ring();
        let latest = ring
            .events
            .back()
            .map_or(ring.last_dropped, |event| event.id);
        if id < ring.last_dropped || id > latest {
            return Err(EventGap { from: latest });
        }
        let begin = ring.events.partition_point(|event| event.id <= id);
        Ok(ring.events.iter().skip(begin).take(most).cloned().collect())
    }

    fn ring(&self) -> MutexGuard<'_, EventRing> {
        // Each event is added as a whole.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventRing {
    fn push(&mut self, event: EventEntry) {
        if self.events.len() == MAX_EVENTS
            && let Some(oldest) = self.events.pop_front()
        {
            self.last_dropped = oldest.id;
        }
        self.events.push_back(event);
    }
}

/// What a change is to those who are told; none if they need not know. Its name comes later.
fn event_of(change: &RowChange) -> Option<EventEntry> {
    let whole = |kind, job| (kind, job, None);
    let (kind, job, tasks) = match change {
        RowChange::Submitted { job, answer, .. } | RowChange::Decided { job, answer } => {
            let reserved = answer.reserved_until.is_some();
            whole(
                if reserved {
                    "reserved"
                } else {
                    admission_key(&answer.admission)
                },
                *job,
            )
        }
        RowChange::Deferred { job, held } => whole(if *held { "held" } else { "deferred" }, *job),
        RowChange::DependencyFailed { job, .. } => whole("cancelled", *job),
        RowChange::TasksDropped {
            job,
            tasks,
            reasons: refusals,
        } => {
            let kind = if refusals.is_empty() {
                "cancelled"
            } else {
                "rejected"
            };
            (kind, *job, Some(EventTasks::Some(tasks.to_string().into())))
        }
        RowChange::HeldTasks { job, tasks } => (
            "held",
            *job,
            Some(EventTasks::Some(tasks.to_string().into())),
        ),
        RowChange::TaskEnded { attempt, ending } => (
            ending_key(*ending),
            attempt.job,
            Some(EventTasks::One(attempt.task)),
        ),
        RowChange::Claimed { job } => whole("claimed", *job),
        RowChange::Expired { job } => whole("expired", *job),
        RowChange::Accepted { job, .. } => whole("accepted", *job),
        RowChange::Rejected { job, .. } => whole("rejected", *job),
        RowChange::Queued { job } => whole("queued", *job),
        RowChange::Held { job } => whole("held", *job),
        RowChange::Started { attempt, of_array } => {
            let task = of_array.then_some(EventTasks::One(attempt.task));
            ("started", attempt.job, task)
        }
        RowChange::JobEnded { job, ending } => whole(ending_key(*ending), *job),
        RowChange::ArrayCounts { .. }
        | RowChange::AttemptProgressed { .. }
        | RowChange::WorkerLost { .. }
        | RowChange::Booked { .. } => return None,
    };
    let ends = ["finished", "cancelled", "lost", "rejected", "expired"];
    Some(EventEntry {
        id: EventId { batch: 0, index: 0 },
        at: Instant::ZERO,
        kind,
        job,
        is_last: tasks.is_none() && ends.contains(&kind),
        tasks,
    })
}

fn admission_key(standing: &AdmissionState) -> &'static str {
    match standing {
        AdmissionState::Accepted { .. } => "accepted",
        AdmissionState::Queued => "queued",
        AdmissionState::Deferred => "deferred",
        AdmissionState::Rejected(_) => "rejected",
    }
}

fn ending_key(ending: JobEnding) -> &'static str {
    match ending {
        JobEnding::Finished => "finished",
        JobEnding::Cancelled => "cancelled",
        JobEnding::Lost => "lost",
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.batch, self.index)
    }
}

impl FromStr for EventId {
    type Err = BadEventId;

    fn from_str(words: &str) -> Result<Self, BadEventId> {
        let (batch, place) = words.split_once('-').ok_or(BadEventId)?;
        Ok(Self {
            batch: batch.parse().map_err(|_| BadEventId)?,
            index: place.parse().map_err(|_| BadEventId)?,
        })
    }
}

impl fmt::Display for EventTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(task) => task.fmt(f),
            Self::Some(tasks) => f.write_str(tasks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(jobs: std::ops::Range<u64>) -> Vec<RowChange> {
        jobs.map(|job| RowChange::Queued { job }).collect()
    }

    fn id(batch: i64, place: u32) -> EventId {
        EventId {
            batch,
            index: place,
        }
    }

    #[test]
    fn whoever_asks_again_misses_nothing() {
        let log = EventLog::after_batch(7);
        let mut watch = log.watch();
        let begin = watch.borrow_and_update().id;
        log.publish(8, Instant::ZERO, &queued(1..4));
        log.publish(9, Instant::ZERO, &[]);
        log.publish(10, Instant::ZERO, &queued(4..5));
        assert!(watch.has_changed().unwrap());
        let jobs = |from| -> Vec<u64> {
            let events = log.events_after(from, 3).unwrap();
            events.iter().map(|event| event.job).collect()
        };
        assert_eq!(jobs(begin), [1, 2, 3]);
        assert_eq!(jobs(id(8, 1)), [3, 4]);
        assert_eq!(jobs(id(10, 0)), [0; 0]);
    }

    #[test]
    fn what_is_not_known_is_a_gap() {
        let log = EventLog::after_batch(7);
        // Of batch 7 there may have been more events than were read before the restart.
        let gap = log.events_after(id(7, 3), 10);
        assert!(gap.is_err());
        log.publish(8, Instant::ZERO, &queued(0..MAX_EVENTS as u64 + 2));
        let latest = id(8, MAX_EVENTS as u32 + 1);
        assert_eq!(
            log.events_after(id(8, 0), 10),
            Err(EventGap { from: latest })
        );
        assert_eq!(log.events_after(id(8, 1), 1).unwrap()[0].id, id(8, 2));
        assert_eq!(
            log.events_after(id(9, 0), 10),
            Err(EventGap { from: latest }),
            "it is yet to come"
        );
    }

    #[test]
    fn names_are_written_and_read() {
        assert_eq!(id(12, 3).to_string().parse(), Ok(id(12, 3)));
        for words in ["", "12", "-", "a-1", "1-b", "1-2-3"] {
            assert_eq!(words.parse::<EventId>(), Err(BadEventId), "{words}");
        }
    }
}
