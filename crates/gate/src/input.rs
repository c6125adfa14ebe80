//! What happens outside, and what the gate makes of it.

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, JobId, JobSpec, NodeId, NodeRange};

/// A process that offers nodes, for as long as one of its lives lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

/// Whether a job may be run again from its start after it was taken off its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnEviction {
    /// It queues again.
    Requeue,
    /// It is lost.
    Fail,
}

/// Something that happened outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateInput {
    /// A job was handed in.
    Submitted {
        /// What the user wants.
        spec: JobSpec,
        /// Whether it may be tried again.
        on_eviction: OnEviction,
        /// How long it may run, where somebody forecasts.
        forecast: Option<Distribution>,
    },
    /// All of a job that still ran has ended.
    Ended {
        /// Which job.
        job: JobId,
        /// Which try at it.
        attempt: u32,
    },
    /// One task of a job has ended, on one node.
    TaskEnded {
        /// Which job.
        job: JobId,
        /// Which try at it.
        attempt: u32,
        /// Where.
        node: NodeId,
    },
    /// A job was taken off its nodes before its end.
    Evicted {
        /// Which job.
        job: JobId,
        /// Which try at it.
        attempt: u32,
    },
    /// A worker offers nodes. A worker that comes back with as many nodes gets its own back.
    WorkerUp {
        /// Which worker.
        worker: WorkerId,
        /// Which of its lives; each is higher than the last.
        incarnation: u32,
        /// How many nodes it offers; at least 1.
        nodes: u32,
        /// Bytes of memory that the tasks of each of them may hold together, where there is a limit.
        memory: Option<u64>,
    },
    /// A worker vanished, and all that ran on it.
    WorkerLost {
        /// Which worker.
        worker: WorkerId,
        /// Which of its lives.
        incarnation: u32,
    },
    /// Its user takes a job back.
    Cancel {
        /// Which job.
        job: JobId,
    },
    /// Its user holds a queued job back.
    Hold {
        /// Which job.
        job: JobId,
    },
    /// Its user lets a held job queue again.
    Release {
        /// Which job.
        job: JobId,
    },
    /// Time has passed.
    Tick,
}

/// What the gate made of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputAck {
    /// It is done.
    Done,
    /// The job is in this slot; what it was told is among the effects.
    Job(JobId),
    /// The worker's nodes are these.
    Nodes(NodeRange),
}

/// Why an input changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// No such job is known, or it is over.
    #[error("no such job")]
    UnknownJob,
    /// The report is about an earlier try at the job, or about one that ended already.
    #[error("the attempt is over")]
    StaleAttempt,
    /// The job has no task on that node, or it ended already.
    #[error("no task of the job runs on that node")]
    NoSuchTask,
    /// The report is about an earlier life of the worker, or repeats what is known.
    #[error("stale or duplicate worker registration")]
    StaleWorker,
    /// Only a queued job can be held back.
    #[error("the job is not queued")]
    NotQueued,
    /// Only a held job can be released.
    #[error("the job is not held")]
    NotHeld,
    /// A job that asks for no processor, or no time, is none.
    #[error("a job needs at least one processor and a positive estimate")]
    Malformed,
}
