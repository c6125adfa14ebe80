//! A log of the latest events of jobs, workers and nodes, in the order of commits, for subscribers. The log has a
//! maximum length.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tollgate_client::types::JobEventKind;
use tollgate_model::{BookEntry, Instant, NodeRange};
use tollgate_service::{AdmissionState, RowChange, TaskDropCause};
use tollgate_workers::WorkerState;

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
    /// A worker has connected, is about to leave, is disconnected or lost.
    Worker(WorkerStep),
    /// Nodes have come, were drained or resumed, or have gone.
    Nodes(NodeStep),
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

    /// Appends events that belong to no batch: those of workers and nodes. `batch` is the last batch.
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
            EventSubject::Worker(_) | EventSubject::Nodes(_) => None,
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

/// Converts a change to a step of a job; None if the change is not reported.
fn step_of(change: &RowChange) -> Option<JobStep> {
    let whole = |kind, job| (kind, job, None);
    let (kind, job, tasks) = match change {
        RowChange::Submitted { job, answer, .. } | RowChange::Decided { job, answer } => {
            let reserved = answer.reserved_until.is_some();
            whole(
                if reserved {
                    JobEventKind::Reserved
                } else {
                    admission_event(&answer.admission)
                },
                *job,
            )
        }
        RowChange::Deferred { job, held } => whole(
            if *held {
                JobEventKind::Held
            } else {
                JobEventKind::Deferred
            },
            *job,
        ),
        RowChange::Altered { job, .. } => whole(JobEventKind::Altered, *job),
        RowChange::Granted { job, .. } => whole(JobEventKind::Granted, *job),
        RowChange::DependencyFailed { job, .. } => whole(JobEventKind::Cancelled, *job),
        RowChange::TasksDropped { job, tasks, cause } => {
            let kind = match cause {
                TaskDropCause::Cancelled | TaskDropCause::Late => JobEventKind::Cancelled,
                TaskDropCause::Rejected(_) => JobEventKind::Rejected,
            };
            (kind, *job, Some(EventTasks::Some(tasks.to_string().into())))
        }
        RowChange::HeldTasks { job, tasks } => (
            JobEventKind::Held,
            *job,
            Some(EventTasks::Some(tasks.to_string().into())),
        ),
        RowChange::TaskEnded { attempt, ending } => (
            (*ending).into(),
            attempt.job,
            Some(EventTasks::One(attempt.task)),
        ),
        RowChange::Claimed { job } => whole(JobEventKind::Claimed, *job),
        RowChange::Expired { job } => whole(JobEventKind::Expired, *job),
        RowChange::Accepted { job, .. } => whole(JobEventKind::Accepted, *job),
        RowChange::Rejected { job, .. } => whole(JobEventKind::Rejected, *job),
        RowChange::DroppedLate { job } => whole(JobEventKind::Cancelled, *job),
        RowChange::Queued { job } => whole(JobEventKind::Queued, *job),
        RowChange::NotPromised { job, .. } => whole(JobEventKind::Unpromised, *job),
        RowChange::Held { job } => whole(JobEventKind::Held, *job),
        RowChange::Started { attempt, of_array } => {
            let task = of_array.then_some(EventTasks::One(attempt.task));
            (JobEventKind::Started, attempt.job, task)
        }
        RowChange::Entered {
            attempt,
            entry: BookEntry::Broken(_),
            of_array,
            ..
        } => {
            let task = of_array.then_some(EventTasks::One(attempt.task));
            (JobEventKind::Broken, attempt.job, task)
        }
        RowChange::AtRisk { job, .. } => whole(JobEventKind::AtRisk, *job),
        RowChange::EnteredTogether {
            job,
            tasks,
            entry: BookEntry::Broken(_),
            ..
        } => (
            JobEventKind::Broken,
            *job,
            Some(EventTasks::Some(tasks.to_string().into())),
        ),
        RowChange::JobEnded { job, ending } => whole((*ending).into(), *job),
        // A kept or void promise ends with its job.
        RowChange::Entered { .. }
        | RowChange::EnteredTogether { .. }
        | RowChange::StartedLate { .. }
        | RowChange::Promised { .. }
        | RowChange::Priced { .. }
        | RowChange::ArrayCounts { .. }
        | RowChange::AttemptReported(_)
        | RowChange::WorkMeasured { .. }
        | RowChange::WorkerLost { .. }
        | RowChange::Booked { .. } => return None,
    };
    Some(JobStep {
        kind,
        job,
        is_last: tasks.is_none() && kind.is_end(),
        tasks,
    })
}

const fn admission_event(admission: &AdmissionState) -> JobEventKind {
    match admission {
        AdmissionState::Accepted { .. } => JobEventKind::Accepted,
        AdmissionState::Queued => JobEventKind::Queued,
        AdmissionState::Waitlisted { .. } => JobEventKind::Waitlisted,
        AdmissionState::Unpromised(_) => JobEventKind::Unpromised,
        AdmissionState::Deferred => JobEventKind::Deferred,
        AdmissionState::Rejected(_) => JobEventKind::Rejected,
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
    fn reader_that_resumes_misses_no_event() {
        let log = EventLog::after_batch(7);
        let mut watch = log.watch();
        let begin = watch.borrow_and_update().id;
        log.publish(8, Instant::ZERO, &queued(1..4));
        log.publish(9, Instant::ZERO, &[]);
        log.publish(10, Instant::ZERO, &queued(4..5));
        assert!(watch.has_changed().unwrap());
        let jobs = |from| -> Vec<u64> {
            let events = log.events_after(from, 3).unwrap();
            let steps = events.iter().filter_map(EventEntry::job_step);
            steps.map(|step| step.job).collect()
        };
        assert_eq!(jobs(begin), [1, 2, 3]);
        assert_eq!(jobs(id(8, 1)), [3, 4]);
        assert_eq!(jobs(id(10, 0)), [0; 0]);
    }

    #[test]
    fn dropped_events_are_reported_as_a_gap() {
        let log = EventLog::after_batch(7);
        // Batch 7 may have had more events than were read before the restart.
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
    fn events_of_workers_stand_between_those_of_jobs_and_no_identifier_comes_twice() {
        let log = EventLog::after_batch(7);
        let nodes = || {
            EventSubject::Nodes(NodeStep {
                worker: None,
                nodes: NodeRange { first: 0, len: 1 },
                is_up: true,
                is_drained: false,
            })
        };
        let begin = log.watch().borrow().id;
        log.publish_others(7, Instant::ZERO, vec![nodes(), nodes()]);
        log.publish(8, Instant::ZERO, &queued(1..3));
        log.publish_others(8, Instant::ZERO, vec![nodes()]);
        log.publish_others(9, Instant::ZERO, vec![nodes()]);
        log.publish(10, Instant::ZERO, &queued(3..4));
        let events = log.events_after(begin, 100).unwrap();
        let ids: Vec<(i64, u32, bool)> = events
            .iter()
            .map(|event| (event.id.batch, event.id.index, event.job_step().is_some()))
            .collect();
        let expected = [
            (8, 0, false),
            (8, 1, false),
            (8, 2, true),
            (8, 3, true),
            (8, 4, false),
            (9, 0, false),
            (10, 0, true),
        ];
        assert_eq!(ids, expected);
        assert_eq!(log.events_after(id(8, 3), 1).unwrap()[0].id, id(8, 4));
    }

    #[test]
    fn event_id_round_trips_through_text() {
        assert_eq!(id(12, 3).to_string().parse(), Ok(id(12, 3)));
        for words in ["", "12", "-", "a-1", "1-b", "1-2-3"] {
            assert_eq!(words.parse::<EventId>(), Err(BadEventId), "{words}");
        }
    }
}
