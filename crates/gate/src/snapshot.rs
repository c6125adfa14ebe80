//! A gate on its way to a file and back.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;
use tollgate_policy::{ClusterState, TimerTree};

use crate::input::OnEviction;
use crate::workers::IncarnationTable;

/// All that a gate knows, but for its policy, whose index follows from the state. The data format
/// must give back the floats that it was given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GateSnapshot {
    pub(crate) state: ClusterState,
    /// When the shares of each node must be set anew.
    pub(crate) alarms: TimerTree,
    /// When the next pass is wanted at the latest.
    pub(crate) pass: Option<Instant>,
    pub(crate) workers: IncarnationTable,
    pub(crate) on_eviction: Vec<OnEviction>,
}
