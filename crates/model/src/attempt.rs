//! Attempts: tries at running a task, their reports and their ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EvictionCause, Instant, LaunchFailure, LaunchFault, Span};

/// The least whole number of a task of an array. Numbers of jobs are below.
pub const FIRST_TASK_NUMBER: u64 = 1_000_000_000;

/// The permanent id of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The public number of the job.
    pub job: u64,
    /// The task's index in its array; 0 for a single job.
    pub task: u32,
}

/// The only task of a single job.
impl From<u64> for TaskId {
    fn from(job: u64) -> Self {
        Self { job, task: 0 }
    }
}

/// The permanent id of an attempt at a task. It is never used twice: a requeued task gets another
/// `attempt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// The public number of the job.
    pub job: u64,
    /// The task's index in its array; 0 for a single job.
    pub task: u32,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

impl AttemptId {
    /// Returns the attempt's task.
    pub const fn task(self) -> TaskId {
        TaskId {
            job: self.job,
            task: self.task,
        }
    }
}

/// Writes `7.0.1`: job, task, attempt.
impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.job, self.task, self.attempt)
    }
}

/// A report about an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptReport {
    /// The attempt.
    pub attempt: AttemptId,
    /// The event.
    pub event: AttemptEvent,
}

impl AttemptReport {
    /// Returns the report that an attempt has ended without its program.
    pub fn not_started(attempt: AttemptId, failure: LaunchFailure, at: Instant) -> Self {
        Self {
            attempt,
            event: AttemptEvent::Ended(AttemptOutcome::not_started(failure, at)),
        }
    }
}

/// An event of an attempt. An attempt starts and then ends or is lost, or it ends or is lost
/// without a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptEvent {
    /// The attempt's program runs.
    Started(AttemptStart),
    /// The attempt has ended.
    Ended(AttemptOutcome),
    /// The attempt's result is unknown: it may have been started, its processes are gone, and no
    /// runner observed their end. The engine never starts it again.
    Lost {
        /// Time at which the loss was noticed.
        at: Instant,
    },
}

impl AttemptEvent {
    /// Returns whether the event is the last one of its attempt.
    pub const fn is_end(&self) -> bool {
        match self {
            Self::Started(_) => false,
            Self::Ended(_) | Self::Lost { .. } => true,
        }
    }
}

/// The start of an attempt: its time and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStart {
    /// The process id, if the engine knows it.
    pub pid: Option<u32>,
    /// Time of the start.
    pub at: Instant,
}

/// The end of an attempt and its resource usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    /// The status with which the attempt ended.
    pub status: AttemptStatus,
    /// The reason why the attempt was killed; None if it ended by itself. An attempt may have ended
    /// by itself at the same moment: `status` is the operating system's report.
    pub killed: Option<KillReason>,
    /// Time of the end.
    pub at: Instant,
    /// Wall-clock time from the start; zero if the attempt did not start.
    pub wall: Span,
    /// Processor time of all its processes, as far as the engine can measure it.
    pub cpu: Span,
    /// The part of `wall` for which all its processes were frozen; zero in a report of an earlier
    /// release.
    #[serde(default)]
    pub suspended: Span,
    /// Peak memory in bytes, where the engine can measure it.
    pub peak_memory: Option<u64>,
}

impl AttemptOutcome {
    /// Returns the outcome of an attempt whose program never ran.
    pub fn not_started(failure: LaunchFailure, at: Instant) -> Self {
        Self {
            status: AttemptStatus::NotStarted(failure),
            killed: None,
            at,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            suspended: Span::ZERO,
            peak_memory: None,
        }
    }

    /// Returns whether the site could not launch the attempt, which nothing has ended: another attempt repeats no work,
    /// and may succeed.
    pub fn is_failed_launch_of_site(&self) -> bool {
        let fault = self.status.launch_fault();
        self.killed.is_none() && fault.is_some_and(LaunchFault::is_of_site)
    }

    /// Returns why the attempt left its computer, if it did after its program had started.
    pub fn eviction(&self) -> Option<EvictionCause> {
        let cause = self.killed.and_then(KillReason::eviction_cause);
        cause.filter(|_| self.status.launch_fault().is_none())
    }

    /// Returns whether the engine took the attempt back before its program ran, so that the job goes back
    /// to the queue.
    pub fn is_withdrawn(&self) -> bool {
        let gave_way = self.killed.and_then(KillReason::eviction_cause).is_some();
        self.killed == Some(KillReason::Withdrawn) || (gave_way && self.eviction().is_none())
    }
}

/// The exit status of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptStatus {
    /// The program ended with this code; 0 is success.
    Exited(u8),
    /// A signal ended the program.
    Signalled(u8),
    /// The program never ran, so another attempt repeats no work.
    NotStarted(LaunchFailure),
}

impl AttemptStatus {
    /// Returns whether the program ran and succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited(0))
    }

    /// Returns the side at fault if the program never ran.
    pub const fn launch_fault(&self) -> Option<LaunchFault> {
        match self {
            Self::NotStarted(failure) => Some(failure.fault),
            Self::Exited(_) | Self::Signalled(_) => None,
        }
    }

    /// Returns the status as a shell shows it: the exit code, 128 + n after signal n, 127 if the
    /// program never ran.
    pub const fn shell_code(&self) -> u8 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) => signal.saturating_add(128),
            Self::NotStarted(_) => 127,
        }
    }
}

/// Writes `exit 3`, `signal 9`, or `not started: dir: No such file or directory`.
impl fmt::Display for AttemptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
            Self::NotStarted(failure) => write!(f, "not started: {failure}"),
        }
    }
}

/// A reason why an attempt was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KillReason {
    /// The user or an operator cancelled the attempt.
    Cancelled,
    /// The attempt used up its time limit. Engines set this reason themselves.
    TimeLimit,
    /// The attempt used more than its memory limit. Engines set this reason themselves.
    MemoryLimit,
    /// The attempt's nodes are needed for another job, its lease has ended, or its runner was asked
    /// to end.
    Evicted,
    /// The attempt's output is longer than its limit. Engines set this reason themselves.
    OutputLimit,
    /// The attempt was to follow another one and has not started: it goes back to the queue. (A new
    /// reason goes at the end, because the index is stored.)
    Withdrawn,
    /// The attempt left a computer that is needed otherwise, for this cause. A worker on that computer sets this
    /// reason.
    GaveWay(EvictionCause),
}

impl KillReason {
    /// Returns why the attempt gave way on a computer, if it did.
    pub const fn eviction_cause(self) -> Option<EvictionCause> {
        match self {
            Self::GaveWay(cause) => Some(cause),
            Self::Cancelled
            | Self::TimeLimit
            | Self::MemoryLimit
            | Self::Evicted
            | Self::OutputLimit
            | Self::Withdrawn => None,
        }
    }
}
