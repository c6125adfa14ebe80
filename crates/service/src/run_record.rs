//! Runs of jobs that the service learns from.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// A job in a record of earlier jobs, which ran and ended with success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The digest of what identifies the job in the record: a job is learned once.
    pub digest: u64,
    /// The user id of the owner.
    pub user: u32,
    /// Name of the class of jobs that behave like this one.
    pub name: String,
    /// The file name of the program or script.
    pub executable: Option<String>,
    /// The account.
    pub account: Option<String>,
    /// The queue.
    pub queue: Option<String>,
    /// Processors that the job used. At least 1.
    pub procs: u32,
    /// The user's estimate of the run time, if any. Positive.
    pub estimate: Option<Span>,
    /// The submission, on the clock of the record.
    pub submit: Instant,
    /// The end, on the clock of the record.
    pub finish: Instant,
    /// The run time. Positive.
    pub runtime: Span,
    /// Processor time of all processors together, if it is known.
    pub cpu: Option<Span>,
    /// Peak memory in bytes, if it is known.
    pub peak_memory: Option<u64>,
}

/// A run of a job of this service that ended with success.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRun {
    /// The run. Its digest counts for nothing.
    pub run: RunRecord,
    /// The number of the array, if the job is a task of one.
    pub array: Option<u64>,
}
