//! Records of jobs that waited, as a stream of events.

use tollgate_model::{Instant, Span};

use super::job::WaitJob;

/// A job of a record: the facts at its submission, and its later course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRecord {
    /// The facts at submission.
    pub job: WaitJob,
    /// The instant from which the wait counts: the submission, or the end of a hold or a dependency if that is later
    /// and known.
    pub queued: Instant,
    /// The end of the wait.
    pub wait_end: WaitEnd,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The job started, and ended after its run time.
    Ran {
        /// Not negative.
        wait: Span,
        /// Not negative.
        runtime: Span,
    },
    /// The job was cancelled after this wait. Not negative.
    Cancelled(Span),
}

/// The kind of an event of a job, in the order in which those of one job follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitEventKind {
    /// The job entered the queue.
    Queued,
    /// The job started.
    Started,
    /// The job ended.
    Ended,
    /// The job was cancelled while it waited.
    Cancelled,
}

/// An event of a job of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitEvent {
    /// The instant of the event.
    pub at: Instant,
    /// The position of the job in the record.
    pub job: usize,
    /// The kind of the event.
    pub kind: WaitEventKind,
}

/// Returns the events of records in order of time. Events of one instant are in order of the jobs, so a job that
/// is submitted sees those of earlier jobs alone.
pub fn wait_events(records: &[WaitRecord]) -> Vec<WaitEvent> {
    let mut events = Vec::with_capacity(3 * records.len());
    for (job, record) in records.iter().enumerate() {
        let mut push = |at, kind| events.push(WaitEvent { at, job, kind });
        push(record.queued, WaitEventKind::Queued);
        match record.wait_end {
            WaitEnd::Ran { wait, runtime } => {
                let start = record.queued + wait;
                push(start, WaitEventKind::Started);
                push(start + runtime, WaitEventKind::Ended);
            }
            WaitEnd::Cancelled(wait) => push(record.queued + wait, WaitEventKind::Cancelled),
        }
    }
    events.sort_unstable();
    events
}
