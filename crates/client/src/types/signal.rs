//! Signals to running jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signal to send to the processes of a job, or of tasks of an array, that run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// Name: `HUP`, `INT`, `QUIT`, `USR1`, `USR2`, `TERM` or `XCPU`.
    pub signal: String,
}

/// The answer to a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalResult {
    /// Number of the job.
    pub id: u64,
    /// Number of running tasks to which the signal was sent; 1 for a job that is no array.
    pub signalled: u64,
    /// Number of running tasks that got none: their worker is not connected, or their program does not run yet or
    /// any more.
    pub unreached: u64,
}
