//! The limits of an engine's queues.

use tollgate_model::{Bytes, Span};

/// A queue (of Slurm: a partition) with its limits. An engine without queues has one, named after
/// the machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// The name of the queue.
    pub name: String,
    /// Whether jobs that name no queue go to this one.
    pub is_default: bool,
    /// The longest time limit of a job. None if there is no maximum.
    pub max_time: Option<Span>,
    /// The time limit of a job that names none. None for the longest one.
    pub default_time: Option<Span>,
    /// The number of nodes. None if the engine does not say.
    pub nodes: Option<u32>,
    /// The largest number of cores of a node. None if the engine does not say.
    pub max_cores: Option<u32>,
    /// The largest memory of a node. None if the engine does not say.
    pub max_memory: Option<Bytes>,
}
