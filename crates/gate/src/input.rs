//! The inputs of the gate, and its answers.

use serde::{Deserialize, Serialize};
use tollgate_model::{
    EvictionCause, HostSlowdown, HostTerms, Instant, JobId, JobSpec, LimitOwner, NodeId, NodeRange,
    RuntimeBelief,
};

/// A worker: a process that offers nodes, for as long as one of its incarnations lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

/// The rule for a job that was evicted from its nodes: whether it may run again from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnEviction {
    /// The job is requeued.
    Requeue,
    /// The job is lost.
    Fail,
}

/// An external event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateInput {
    /// A user submitted a job.
    Submitted {
        /// The job's specification.
        spec: JobSpec,
        /// Whether the job may be requeued.
        on_eviction: OnEviction,
        /// The forecast run time, if there is a forecast.
        forecast: Option<RuntimeBelief>,
    },
    /// A user submitted equal jobs together, to a policy that decides on them together: they have one decision, and
    /// wait in one slot.
    SubmittedArray {
        /// The specification of each job.
        spec: JobSpec,
        /// Number of jobs; at least 1.
        count: u32,
        /// Whether the jobs may be requeued.
        on_eviction: OnEviction,
        /// The forecast run time of each, if there is a forecast.
        forecast: Option<RuntimeBelief>,
    },
    /// All tasks of a job that still ran have ended.
    Ended {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
    },
    /// The program of a running job starts only at `at`, after the job got its nodes: its run counts from then. A
    /// job that shares nodes stays as it is.
    ProgramStarted {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
        /// The start, not before the submission and not after the present instant.
        at: Instant,
    },
    /// One task of a job has ended, on one node and on all nodes for which it stands.
    TaskEnded {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
        /// The node of the task, for which no other node stands.
        node: NodeId,
    },
    /// A job was evicted from its nodes before its end.
    Evicted {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
    },
    /// A job was evicted from its nodes, and by a rule for evicted jobs it is not tried again.
    Abandoned {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
        /// The owner of the rule. If it is the user, the job ends as one that the user cancelled.
        by: LimitOwner,
    },
    /// An attempt is over that does not count: the engine took the job back before its program ran, or it failed
    /// and its user wants another try. The job is queued again, whatever its rule for evictions.
    Withdrawn {
        /// The job.
        job: JobId,
        /// The attempt.
        attempt: u32,
    },
    /// A worker registered its nodes. A worker that returns with the same number of nodes gets its
    /// own nodes back.
    WorkerUp {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation, higher than all before.
        incarnation: u32,
        /// Number of nodes that it offers; at least 1.
        nodes: u32,
        /// Memory that the tasks of one node may hold together, in bytes; None without a limit.
        memory: Option<u64>,
        /// The resources that its host offers beside processors and memory.
        terms: HostTerms,
        /// Why the host is in use by others; None if it is free for tasks.
        in_use: Option<EvictionCause>,
    },
    /// The host of a worker is in use by others, or it is free for tasks again. Tasks that run there go on, as far
    /// as the gate knows.
    WorkerInUse {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// Why no other job starts there; None if it is free for tasks.
        in_use: Option<EvictionCause>,
    },
    /// Load that is not of jobs slows a worker's host, or slows it no longer. Tasks that run there go on.
    WorkerSlowed {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// How much longer work takes there.
        slowdown: HostSlowdown,
    },
    /// A worker vanished, with all tasks that ran on it.
    WorkerLost {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
    },
    /// A worker's host closes at another time than it offered. Tasks that run there go on.
    WorkerCloses {
        /// The worker.
        worker: WorkerId,
        /// The number of its incarnation.
        incarnation: u32,
        /// The instant by which everything there has to have ended.
        closes: Instant,
    },
    /// An operator drains a worker's nodes, or lets jobs start there again.
    Drain {
        /// The worker.
        worker: WorkerId,
        /// Whether no other job starts on its nodes.
        drained: bool,
    },
    /// A user cancels a job.
    Cancel {
        /// The job.
        job: JobId,
    },
    /// The first jobs of a waiting group get a slot of their own, because they have another fate than the rest.
    Split {
        /// The group.
        job: JobId,
        /// Number of jobs that leave it: at least 1, and fewer than all.
        first: u32,
    },
    /// Users cancelled some jobs of a waiting group: the last ones are no more.
    Shrink {
        /// The group.
        job: JobId,
        /// Number of these jobs: at least 1, and fewer than all.
        by: u32,
    },
    /// A user holds a queued job.
    Hold {
        /// The job.
        job: JobId,
    },
    /// A user releases a held job, which queues again.
    Release {
        /// The job.
        job: JobId,
    },
    /// A queued job is forecast anew, because more is known.
    Reforecast {
        /// The job.
        job: JobId,
        /// The forecast run time.
        forecast: RuntimeBelief,
    },
    /// Time has passed.
    Tick,
}

/// The gate's answer to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputAck {
    /// The input was handled.
    Done,
    /// The job, or the group of jobs, has this slot; its decision is among the effects if it was submitted.
    Job(JobId),
    /// The worker has these nodes.
    Nodes(NodeRange),
}

/// A reason why an input was rejected and changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The job is unknown or has finished.
    #[error("no such job")]
    UnknownJob,
    /// The report is about an earlier attempt of the job, or about one that has already ended.
    #[error("the attempt is over")]
    StaleAttempt,
    /// The job has no task on this node, or the task has already ended.
    #[error("no task of the job runs on that node")]
    NoSuchTask,
    /// The report is about an earlier incarnation of the worker, or repeats a known state.
    #[error("stale or duplicate worker registration")]
    StaleWorker,
    /// The job is not queued; only a queued job can be held.
    #[error("the job does not wait: it runs, or is held already")]
    NotQueued,
    /// The job is not held; only a held job can be released.
    #[error("the job is not held")]
    NotHeld,
    /// The job asks for no processor or no time, or the group has no such jobs.
    #[error("a job needs at least one processor and a positive estimate, and a group its jobs")]
    Malformed,
}
