//! Why a request fails.

use tollgate_model::Instant;
use tollgate_service::CommandError;
use tollgate_store::{MAX_STEPS, StoreError};

/// The reason for failing a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The command changes nothing.
    #[error(transparent)]
    Ignored(#[from] CommandError),
    /// The same request was carried out before. Its answer is in the store.
    #[error("this request was carried out before")]
    AnsweredBefore,
    /// The disk is full.
    #[error("the disk of the service is full: no new jobs until there is room")]
    DiskFull,
    /// The engine does not answer.
    #[error("the engine does not answer: {0}")]
    Engine(String),
    /// The user has reached the limit of unfinished jobs, given here.
    #[error("job limit reached: a user may have {0} unfinished jobs; an array counts as one")]
    JobLimit(u64),
    /// The user has reached the limit of unfinished tasks, given here.
    #[error("task limit reached: a user may have {0} unfinished tasks")]
    TaskLimit(u64),
    /// No job number is left: from the next number on they are those of tasks.
    #[error("no job number is left: the greatest is 999999999")]
    NoJobNumber,
    /// The deadline is past or too far away. Contains the present instant.
    #[error("deadline_at: expected an instant that is still to come")]
    DeadlinePassed(Instant),
    /// The job would begin at its deadline, which is given here, or later; or too far away.
    #[error("begin_at: expected an instant before the deadline")]
    BeginTooLate(Instant),
    /// The user has reached the limit of stored bytes, given here.
    #[error(
        "expected at most {0} bytes of commands, environments and scripts of one user's jobs that \
         are not over"
    )]
    StorageLimit(u64),
    /// The user has no job of this number to start after.
    #[error("after: no such job: {0}")]
    UnknownDependency(u64),
    /// The job to start after has ended without success.
    #[error("after: job {0} did not end with exit code 0, so this job would never start")]
    DependencyFailed(u64),
    /// The job to start after a failure of has ended with success.
    #[error("after: job {0} ended with exit code 0, so this job would never start")]
    DependencySucceeded(u64),
    /// No attempt of the job runs.
    #[error("the job does not run")]
    NotRunning,
    /// The attempt has as many recorded steps as one may have.
    #[error("no more steps of this run are recorded: expected at most {MAX_STEPS}")]
    StepLimit,
    /// No worker has this name.
    #[error("no such worker: {0}")]
    UnknownWorker(String),
    /// The decision could not be stored, so it does not hold.
    #[error("the service cannot write to its store: {0}")]
    Store(String),
}

impl RequestError {
    /// Returns the next step of the user, if there is one.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::JobLimit(_) => {
                Some("wait for some to end; the setting `limits.jobs` allows more")
            }
            Self::TaskLimit(_) => {
                Some("wait for some to end; the setting `limits.tasks` allows more")
            }
            Self::StorageLimit(_) => {
                Some("wait for some to end; the setting `limits.stored_bytes` allows more")
            }
            Self::NoJobNumber => {
                Some("an operator starts a service with a new data directory (`--data`)")
            }
            Self::NotRunning => Some("a signal goes to running jobs and tasks alone"),
            Self::Ignored(_)
            | Self::AnsweredBefore
            | Self::DiskFull
            | Self::Engine(_)
            | Self::DeadlinePassed(_)
            | Self::BeginTooLate(_)
            | Self::UnknownDependency(_)
            | Self::DependencyFailed(_)
            | Self::DependencySucceeded(_)
            | Self::UnknownWorker(_)
            | Self::StepLimit
            | Self::Store(_) => None,
        }
    }
}

impl From<&StoreError> for RequestError {
    fn from(error: &StoreError) -> Self {
        if error.is_full() {
            return Self::DiskFull;
        }
        Self::Store(error.to_string())
    }
}
