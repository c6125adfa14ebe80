//! The tasks of an array together.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::{ForecastDoubt, ForecastPart, JobForecast};
use super::state::JobState;
use super::word::WireWord;

/// Tasks of an array that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFailures {
    /// Their state: `finished` with another status than `exit 0`, ended by a limit, or `lost`.
    pub state: WireWord<JobState>,
    /// The status of finished tasks: `exit 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Number of such tasks.
    pub count: u64,
    /// Numbers of the tasks: `3,7-9`; the first of them if `cut`.
    pub tasks: String,
    /// True if there are more tasks than are named.
    #[serde(default)]
    pub cut: bool,
}

/// Writes the tasks as a phrase: `exit 2: 3 tasks (7,9-10)`.
impl fmt::Display for TaskFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            Some(status) => f.write_str(status)?,
            None => write!(f, "{}", self.state)?,
        }
        let noun = if self.count == 1 { "task" } else { "tasks" };
        let more = if self.cut { ", .." } else { "" };
        write!(f, ": {} {noun} ({}{more})", self.count, self.tasks)
    }
}

/// The outlook of the tasks of an unfinished array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TasksOutlook {
    /// The task that has run longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<RunningTaskAge>,
    /// The task that started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub youngest: Option<RunningTaskAge>,
    /// The run times of its tasks that ended with success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<TaskRuns>,
    /// Sources of the forecast, in words: `8 tasks of this array`.
    pub forecast_from: String,
    /// All sources of the forecast with their parts, from the largest to the smallest.
    #[serde(default)]
    pub forecast_parts: Vec<ForecastPart>,
    /// Why the forecast is in doubt, so that its bounds are wider. None if the last jobs of the class ran as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_doubt: Option<WireWord<ForecastDoubt>>,
    /// The first start and the last end of the tasks that are not held, with the probability that all of them end by the
    /// deadline. None if all are held, the last may never end, or the policy plays no futures.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub expected: Option<JobForecast>,
}

/// A running task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningTaskAge {
    /// Number of the task.
    pub task: u32,
    /// The time since its start.
    pub age_s: f64,
}

/// The run times of tasks that ended with success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRuns {
    /// Number of these tasks: of many, the last 1,000.
    pub count: u64,
    /// One in ten ran shorter.
    pub low_s: f64,
    /// One in ten ran longer.
    pub high_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_status_or_state_and_tasks() {
        let mut failed = TaskFailures {
            state: JobState::Finished.into(),
            status: Some("exit 2".to_owned()),
            count: 3,
            tasks: "7,9-10".to_owned(),
            cut: false,
        };
        assert_eq!(failed.to_string(), "exit 2: 3 tasks (7,9-10)");
        failed.cut = true;
        failed.status = None;
        failed.state = JobState::TimedOut.into();
        assert_eq!(failed.to_string(), "timed out: 3 tasks (7,9-10, ..)");
    }
}
