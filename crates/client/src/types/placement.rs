//! The nodes that jobs take over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::JobState;
use super::word::WireWord;

/// The nodes that jobs and tasks take, and took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementList {
    /// Instant of the answer, by the service's clock: the end of the bars of placements that go on.
    pub now_at: String,
    /// First those that go on, by the number of the job; then the others, latest end first.
    pub placements: Vec<Placement>,
    /// True if there are more than the list has, because of its limit. Those that ended before the last entry follow with
    /// `before` and its `to_at`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
}

/// The nodes that one attempt of a job or task takes, or took. Of a job that the client may not see, only nodes and times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Number of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// Number of the task, if the job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Number of the attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Name of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// User id of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<u32>,
    /// Name of the owner; the number of a user without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Deadline of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<String>,
    /// The nodes, as `/v1/nodes` numbers them, in ascending order.
    pub nodes: Vec<NodeSpan>,
    /// Host of the program: the name of a worker, or of the service's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Hosts with the number of processors on each, as in `n1:4,n2:2`, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<String>,
    /// Instant at which the nodes were taken. The program may start a little later.
    pub from_at: String,
    /// Instant at which the nodes were left; none of a placement that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_at: Option<String>,
    /// State in which the job or task ended, if this was its last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<WireWord<JobState>>,
}

/// Consecutive nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSpan {
    /// Number of the first node.
    pub first: u32,
    /// Number of the last node.
    pub last: u32,
}

/// Returns whether a field is left out because it is false.
const fn is_false(value: &bool) -> bool {
    !*value
}
