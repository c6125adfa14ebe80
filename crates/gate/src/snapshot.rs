//! The stored form of a gate.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;
use tollgate_policy::{ClusterState, TimerTree};

use crate::input::OnEviction;
use crate::workers::IncarnationTable;

/// The complete state of a gate, except its policy, whose index follows from the state. The data
/// format must preserve floats exactly.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GateSnapshot {
    pub(crate) state: ClusterState,
    /// The times at which the shares of each node must be recomputed.
    pub(crate) alarms: TimerTree,
    /// The latest time of the next pass.
    pub(crate) pass: Option<Instant>,
    pub(crate) workers: IncarnationTable,
    pub(crate) on_eviction: Vec<OnEviction>,
}
