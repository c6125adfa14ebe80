//! The changes of the rows that queries read from the store.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_gate::{BookingKind, WorkerId};
use tollgate_model::{
    AttemptId, AttemptReport, BookEntry, Credits, EvictionCause, Instant, JobEndState, Probability,
    Reason, Span,
};

use super::{RejectReason, SubmitOutcome};
use crate::abandonment::Abandonment;
use crate::array::task_counts::TaskCounts;
use crate::command::Submission;
use crate::task_ranges::TaskRanges;

/// The cause for which tasks of an array will never run.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskDropCause {
    /// Their user cancelled them.
    Cancelled,
    /// They could hardly meet their deadline any more, and their user wants them cancelled then.
    Late,
    /// They were rejected, for these reasons.
    Rejected(Vec<RejectReason>),
}

/// A promise whose chance to be kept is low.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromiseAtRisk {
    /// The probability of keeping the promise.
    pub probability: Probability,
    /// The cause.
    pub cause: PromiseRisk,
}

/// Why a promise is at risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PromiseRisk {
    /// The engine has not started the program.
    NotStarted,
    /// The host closes before the task is likely to end.
    HostCloses,
    /// Load that is not of jobs slows a host on which it runs.
    HostSlowed,
    /// The job, or a task of the array, runs longer than was planned when it was promised.
    OwnRun,
    /// Other jobs run longer than was planned, or nodes are missing.
    Others,
}

/// Formats the cause as a sentence about the job.
impl fmt::Display for PromiseRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotStarted => "the engine has not started the program yet",
            Self::HostCloses => "its host closes before its likely end",
            Self::HostSlowed => "other load slows its host",
            Self::OwnRun => "it takes longer than was planned",
            Self::Others => "what runs before it takes longer than was planned",
        })
    }
}

/// A change of the rows that queries read from the store.
#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    /// A job was submitted.
    Submitted {
        /// Its public number.
        job: u64,
        /// The submission.
        submission: Box<Submission>,
        /// The outcome of the submission.
        answer: SubmitOutcome,
    },
    /// A job that had to wait got its admission decision.
    Decided {
        /// The number of the job.
        job: u64,
        /// The outcome.
        answer: SubmitOutcome,
    },
    /// An operator let a job go beyond its user's share.
    Granted {
        /// The number of the job.
        job: u64,
        /// The user id of the operator.
        by: u32,
        /// The operator's reason.
        reason: String,
    },
    /// A waiting job was changed by its user.
    Altered {
        /// The number of the job.
        job: u64,
        /// Its name.
        name: String,
        /// The estimate that decisions use.
        estimate: Span,
        /// Its deadline.
        due: Option<Instant>,
        /// Maximum number of its tasks that may run at once, if it is an array with a limit.
        max_at_once: Option<u32>,
        /// Its time limit, or its having none; None if it did not change.
        time_limit: Option<Option<Span>>,
        /// Its remark; None if it did not change.
        comment: Option<String>,
    },
    /// A waiting job was held or released by its user.
    Deferred {
        /// The number of the job.
        job: u64,
        /// Whether the job is now held.
        held: bool,
    },
    /// A job was cancelled because its predecessor did not end as it had to.
    DependencyFailed {
        /// The number of the job.
        job: u64,
        /// The number of the predecessor.
        by: u64,
    },
    /// Tasks of an array will never run.
    TasksDropped {
        /// The number of the array.
        job: u64,
        /// The tasks.
        tasks: TaskRanges,
        /// Why they will not.
        cause: TaskDropCause,
    },
    /// The set of an array's held tasks has changed.
    HeldTasks {
        /// The number of the array.
        job: u64,
        /// All tasks that are now held.
        tasks: TaskRanges,
    },
    /// A promise has come at risk for the first time.
    AtRisk {
        /// The job.
        job: u64,
        /// The risk, by the knowledge of this step.
        risk: PromiseAtRisk,
    },
    /// A started task of an array has finished.
    TaskEnded {
        /// The task's last attempt.
        attempt: AttemptId,
        /// The task's ending.
        ending: JobEndState,
    },
    /// The counts of an array's tasks have changed.
    ArrayCounts {
        /// The number of the array.
        job: u64,
        /// The new counts.
        counts: TaskCounts,
    },
    /// A reserved quote was claimed and is now a job.
    Claimed {
        /// The number of the job.
        job: u64,
    },
    /// A reserved quote has expired or was cancelled.
    Expired {
        /// The number of the quote.
        job: u64,
    },
    /// A queued job was admitted.
    Accepted {
        /// The number of the job.
        job: u64,
        /// The price.
        price: Credits,
    },
    /// A job without a promise got its price.
    Priced {
        /// The number of the job.
        job: u64,
        /// The price.
        price: Credits,
    },
    /// A promise was made to a job that had waited for it.
    Promised {
        /// The number of the job.
        job: u64,
        /// The probability of keeping it; of an array the mean over the tasks that had waited.
        probability: Probability,
        /// The number of batches of such jobs that had ended, if beliefs tell.
        n_batches: Option<u32>,
        /// Whether the promise counts on hosts that are not there yet.
        on_expected: bool,
    },
    /// A job that had waited starts without a promise.
    NotPromised {
        /// The number of the job.
        job: u64,
        /// The reason.
        reason: Reason,
    },
    /// A job that had waited was rejected.
    Rejected {
        /// The number of the job.
        job: u64,
        /// The reason.
        reason: Reason,
    },
    /// A job without a promise was cancelled because it could hardly end in time any more, as its user wants.
    DroppedLate {
        /// The number of the job.
        job: u64,
    },
    /// A job waits again, or still.
    Queued {
        /// The number of the job.
        job: u64,
    },
    /// A job was held.
    Held {
        /// The number of the job.
        job: u64,
    },
    /// An attempt is to run.
    Started {
        /// The attempt.
        attempt: AttemptId,
        /// Whether its task belongs to an array.
        of_array: bool,
    },
    /// The engine reported an event of an attempt.
    AttemptReported(AttemptReport),
    /// An attempt was evicted from its computer.
    Evicted {
        /// The attempt.
        attempt: AttemptId,
        /// The cause.
        cause: EvictionCause,
        /// The time for which it held the computer.
        held: Span,
    },
    /// A task is not tried again after the eviction of this attempt.
    Abandoned {
        /// The attempt.
        attempt: AttemptId,
        /// The rule, and the evictions of the task.
        why: Abandonment,
    },
    /// The work of an attempt that has ended was measured.
    WorkMeasured {
        /// The attempt.
        attempt: AttemptId,
        /// Its work.
        work: Span,
    },
    /// An attempt was lost with its worker.
    WorkerLost {
        /// The attempt.
        attempt: AttemptId,
        /// Its worker.
        worker: WorkerId,
    },
    /// An amount was booked.
    Booked {
        /// The attempt that caused the booking.
        attempt: AttemptId,
        /// The user id of the owner.
        user: u32,
        /// The kind of the booking.
        entry: BookingKind,
        /// The amount, positive for the provider.
        amount: Credits,
    },
    /// A task is in the books: the deadline of its promise has passed, or it has ended before.
    Entered {
        /// The task's last attempt; number 0 if the task has not started.
        attempt: AttemptId,
        /// The entry.
        entry: BookEntry,
        /// Time from submission to start.
        wait: Span,
        /// Whether the task belongs to an array.
        of_array: bool,
    },
    /// Tasks of an array that have not started are in the books, each with this entry.
    EnteredTogether {
        /// The array.
        job: u64,
        /// The tasks.
        tasks: TaskRanges,
        /// The entry of each.
        entry: BookEntry,
        /// Time since the submission.
        wait: Span,
    },
    /// A task of an array starts whose promise is broken already.
    StartedLate {
        /// The attempt.
        attempt: AttemptId,
        /// The entry of the task in the books.
        entry: BookEntry,
    },
    /// A job has finished.
    JobEnded {
        /// The number of the job.
        job: u64,
        /// The job's ending.
        ending: JobEndState,
    },
}

impl RowChange {
    /// Returns the public number of the change's job.
    pub const fn job(&self) -> u64 {
        match self {
            Self::Submitted { job, .. }
            | Self::Decided { job, .. }
            | Self::Altered { job, .. }
            | Self::Granted { job, .. }
            | Self::Deferred { job, .. }
            | Self::DependencyFailed { job, .. }
            | Self::TasksDropped { job, .. }
            | Self::HeldTasks { job, .. }
            | Self::ArrayCounts { job, .. }
            | Self::Claimed { job }
            | Self::Expired { job }
            | Self::Accepted { job, .. }
            | Self::Priced { job, .. }
            | Self::Promised { job, .. }
            | Self::NotPromised { job, .. }
            | Self::Rejected { job, .. }
            | Self::DroppedLate { job }
            | Self::AtRisk { job, .. }
            | Self::Queued { job }
            | Self::Held { job }
            | Self::EnteredTogether { job, .. }
            | Self::JobEnded { job, .. } => *job,
            Self::TaskEnded { attempt, .. }
            | Self::WorkMeasured { attempt, .. }
            | Self::WorkerLost { attempt, .. }
            | Self::Evicted { attempt, .. }
            | Self::Abandoned { attempt, .. }
            | Self::Started { attempt, .. }
            | Self::Entered { attempt, .. }
            | Self::StartedLate { attempt, .. }
            | Self::Booked { attempt, .. } => attempt.job,
            Self::AttemptReported(report) => report.attempt.job,
        }
    }
}
