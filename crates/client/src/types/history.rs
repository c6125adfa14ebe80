//! The history of a job: what happened, and what was expected as time went by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The history of a job, or of one task of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobHistory {
    /// Number of the job.
    pub id: u64,
    /// Number of the task, if it is one of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Instant of the answer, by the service's clock.
    pub now_at: String,
    /// The turns of the job in order of time.
    pub turns: Vec<JobTurn>,
    /// The expectations of the job as time went by, at most 64; none of a task of an array. The older a job is, the longer
    /// are the times between them.
    pub samples: Vec<ForecastSample>,
}

/// A turn in the life of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobTurn {
    /// Instant of the turn.
    pub at: String,
    /// Stable key: the name of an event, or `submitted`, `promised` or `attempt_ended`.
    pub key: String,
    /// Sentence without a full stop.
    pub text: String,
    /// Numbers of the tasks, as in `1-5,9`, if it concerns some of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<String>,
}

/// The expectation of a job at an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastSample {
    /// The instant.
    pub at: String,
    /// Expected start, or the start if the job had started.
    pub expected_start_at: String,
    /// Expected finish.
    pub expected_finish_at: String,
    /// The job finishes before this instant with a probability of one tenth.
    pub earliest_finish_at: String,
    /// The job finishes after this instant with a probability of one tenth.
    pub latest_finish_at: String,
    /// Probability of meeting the deadline, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}
