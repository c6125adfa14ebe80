//! Steps of running jobs, as `srun` records them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_LISTED_IDS, MAX_NAME, NO_CONTROL};
use crate::whole_number::whole;

/// A step that begins in a running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepStart {
    /// Number of the job's attempt, from 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub attempt: u32,
    /// Name of the step. At most 128 characters, none of them a control character.
    #[schemars(length(max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub name: String,
    /// Number of its tasks.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub tasks: u32,
    /// Number of its processors.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Names of its hosts.
    #[schemars(length(max = MAX_LISTED_IDS), inner(length(max = MAX_NAME), regex(pattern = NO_CONTROL)))]
    pub hosts: Vec<String>,
}

/// The number of a step that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepRef {
    /// Number of the job.
    pub id: u64,
    /// Number of the step among those of the attempt, from 0.
    pub step: u32,
}

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepEnd {
    /// Number of the job's attempt, from 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub attempt: u32,
    /// Exit code; 128 + n after signal n.
    pub exit_code: u8,
    /// The signal that ended the step, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_signal: Option<u8>,
}

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepDetails {
    /// Number of the job.
    pub id: u64,
    /// Number of the task, if the job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Number of the step among those of the attempt, from 0.
    pub step: u32,
    /// Name of the step.
    pub name: String,
    /// Number of its tasks.
    pub tasks: u32,
    /// Number of its processors.
    pub procs: u32,
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// Instant of the start.
    pub started_at: String,
    /// Instant of the end. Absent of a step that runs, and of one that ended with its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Exit code; 128 + n after signal n.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The signal that ended the step, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_signal: Option<u8>,
}

/// Steps of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepList {
    /// The steps, in the order of job, task, attempt and step.
    pub steps: Vec<StepDetails>,
    /// Whether there are more.
    pub more: bool,
}
