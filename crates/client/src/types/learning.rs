//! Records of jobs to learn from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_SPAN_S, MIN_SPAN_S};
use crate::whole_number::{optional_whole, whole};

/// Records of earlier jobs to learn from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnRequest {
    /// Jobs that ran and ended with success, in the order of their ends.
    pub records: Vec<LearnedJob>,
}

/// A job in a record of earlier jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnedJob {
    /// Id of the job in its record. A job with the same id, user and times is learned once.
    pub id: String,
    /// Name of the user. One without an account on the host of the service gets a number that no
    /// account has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Name of the job: jobs of one user and name are forecast together.
    pub name: String,
    /// File name of the program or script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// Account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Number of processors.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub procs: u32,
    /// Run time that the user estimated. Positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub estimate_s: Option<f64>,
    /// Submission.
    pub submitted_at: String,
    /// End.
    pub finished_at: String,
    /// Run time. Positive.
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub run_s: f64,
    /// Processor time of all processors together, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub cpu_s: Option<f64>,
    /// Peak memory, if it is known.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_whole"
    )]
    pub peak_memory_bytes: Option<u64>,
}

/// The result of learning from records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LearnResult {
    /// Number of jobs that were learned.
    pub learned: u32,
    /// Number of jobs that had been learned before.
    pub known: u32,
}
