//! Attempts that an engine has and that have not ended.

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptId, AttemptStart, LimitWarning, Span};

/// An attempt that was submitted and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// The attempt's key.
    pub attempt: AttemptId,
    /// The attempt's start; None while it waits.
    pub started: Option<AttemptStart>,
    /// Processor time used until now, as far as the engine can measure it.
    pub cpu: Span,
    /// Whether the attempt is suspended; false from a runner of an earlier release.
    #[serde(default)]
    pub is_suspended: bool,
    /// The signal that the attempt gets before its time limit, if any; None from a runner of an earlier release.
    #[serde(default)]
    pub warning: Option<LimitWarning>,
}

/// A suspended attempt, and what it still keeps from the users of its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedAttempt {
    /// The attempt's key.
    pub attempt: AttemptId,
    /// Memory of its processes in bytes, without page cache. None if no control group measures it.
    pub memory: Option<u64>,
    /// Whether a process of it has a graphics processor open.
    pub holds_gpu: bool,
}
