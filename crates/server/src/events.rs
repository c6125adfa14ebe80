//! A log of the latest events of jobs, their classes, workers and nodes, in the order of commits, for subscribers. The log has a
//! maximum length.

mod job_steps;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tollgate_client::types::{ClassCourse, JobEventKind};
use tollgate_model::{HostSlowdown, Instant, NodeRange, Span};
use tollgate_service::RowChange;
use tollgate_workers::WorkerState;

use self::job_steps::step_of;

/// Maximum number of events in the log, of a few hundred bytes each.
const MAX_EVENTS: usize = 16_384;

/// The identifier of an event: the batch that committed it, and its position in the batch.
/// Identifiers increase, across restarts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    /// Number of the batch.
    pub batch: i64,
    /// Position in the batch, from 0.
    pub index: u32,
}

/// The error for text that is not an event identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of an event")]
pub struct BadEventId;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventEntry {
    /// Identifier of the event.
    pub id: EventId,
    /// Time of the commit, or of the change of a worker.
    pub at: Instant,
    /// The subject, with its change.
    pub subject: EventSubject,
}

/// The subject of an event, with its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// A step of a job.
    Job(JobStep),
    /// A class of jobs does not run as expected any more, or does again.
    Class(ClassStep),
    /// A worker has connected, is about to leave, is disconnected or lost.
    Worker(WorkerStep),
    /// Nodes have come, were drained or resumed, or have gone.
    Nodes(NodeStep),
}

/// A change of a class of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassStep {
    /// Number of the job whose end shows it.
    pub job: u64,
    /// How the last jobs of the class ran.
    pub runs: ClassCourse,
    /// Run time of the job.
    pub run_time: Span,
    /// The bounds that were expected of it: nineteen in twenty take longer than the first, and as many less than the second.
    pub expected: [Span; 2],
}

/// A change of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStep {
    /// Name of the worker.
    pub name: String,
    /// The state of its connection.
    pub state: WorkerState,
    /// Whether it is about to leave.
    pub is_leaving: bool,
    /// Number of its incarnation.
    pub incarnation: u32,
    /// Its nodes.
    pub nodes: NodeRange,
}

/// A change of the nodes of a worker, or of the service's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStep {
    /// Name of the worker; None for the service's host.
    pub worker: Option<String>,
    /// The nodes.
    pub nodes: NodeRange,
    /// Whether they are up.
    pub is_up: bool,
    /// Whether no other job starts there.
    pub is_drained: bool,
    /// Whether their host is in use by others.
    pub is_in_use: bool,
    /// How much longer work takes there because of load that is not of jobs.
    pub slowdown: HostSlowdown,
}

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// Kind of the event.
    pub kind: JobEventKind,
    /// Number of the job.
    pub job: u64,
    /// Tasks concerned; None for all.
    pub tasks: Option<EventTasks>,
    /// Whether this is the last event of the job.
    pub is_last: bool,
}

/// Some tasks of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTasks {
    /// A single task.
    One(u32),
    /// Several tasks, as in `1-5,9`.
    Some(Box<str>),
}

/// A gap: the log has dropped some of the requested events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventGap {
    /// The log is complete after this event.
    pub from: EventId,
}

/// The log of the latest events. Clones share the same log.
#[derive(Clone, Debug)]
pub struct EventLog {
    ring: Arc<Mutex<EventRing>>,
    latest: watch::Sender<LogPosition>,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The last event.
    pub id: EventId,
    /// Whether the log is closed because the service is stopping.
    pub closed: bool,
}

#[derive(Debug)]
struct EventRing {
    events: VecDeque<EventEntry>,
    /// The last event that was dropped, or may have been.
    last_dropped: EventId,
}

impl EventLog {
    /// Returns a log that starts after a batch. All earlier events count as dropped.
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

    /// Appends the events of a batch and wakes the subscribers.
    pub fn publish(&self, batch: i64, at: Instant, changes: &[RowChange]) {
        let mut last = None;
        {
            let mut ring = self.ring();
            let first = match self.latest.borrow().id {
                EventId {
                    batch: latest,
                    index,
                } if latest == batch => index.saturating_add(1),
                _ => 0,
            };
            for (step, index) in changes.iter().filter_map(step_of).zip(first..) {
                let id = EventId { batch, index };
                let subject = EventSubject::Job(step);
                ring.push(EventEntry { id, at, subject });
                last = Some(id);
            }
        }
        if let Some(id) = last {
            self.latest.send_modify(|latest| latest.id = id);
        }
    }

    /// Appends events that belong to no batch: those of classes, workers and nodes. `batch` is the last batch.
    pub fn publish_others(&self, batch: i64, at: Instant, subjects: Vec<EventSubject>) {
        let mut last = None;
        {
            let mut ring = self.ring();
            let mut next = match self.latest.borrow().id {
                // The events of the next batch follow, so that no identifier is given twice.
                EventId {
                    batch: latest,
                    index: u32::MAX,
                } => EventId {
                    batch: latest + 1,
                    index: 0,
                },
                latest if latest.batch >= batch => latest.next(),
                _ => EventId { batch, index: 0 },
            };
            for subject in subjects {
                let id = next;
                ring.push(EventEntry { id, at, subject });
                last = Some(id);
                next = id.next();
            }
        }
        if let Some(id) = last {
            self.latest.send_modify(|latest| latest.id = id);
        }
    }

    /// Closes the log: no more events follow.
    pub fn close(&self) {
        self.latest.send_modify(|latest| latest.closed = true);
    }

    /// Returns once the log is closed.
    pub async fn closed(&self) {
        let mut latest = self.watch();
        // This log owns the sender, so waiting cannot fail.
        let _ = latest.wait_for(|latest| latest.closed).await;
    }

    /// Returns a receiver that follows the end of the log.
    pub fn watch(&self) -> watch::Receiver<LogPosition> {
        self.latest.subscribe()
    }

    /// Returns at most `most` events after `id`, in order.
    ///
    /// # Errors
    /// If one of them was dropped, or `id` is unknown.
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
        // Events are added as a whole, so a panic leaves the ring intact.
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

impl EventEntry {
    /// Returns the step of a job; None of another event.
    pub fn job_step(&self) -> Option<&JobStep> {
        match &self.subject {
            EventSubject::Job(step) => Some(step),
            EventSubject::Class(_) | EventSubject::Worker(_) | EventSubject::Nodes(_) => None,
        }
    }
}

impl EventId {
    const fn next(self) -> Self {
        Self {
            batch: self.batch,
            index: self.index.saturating_add(1),
        }
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
