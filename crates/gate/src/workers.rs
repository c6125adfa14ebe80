//! Who offers which nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::NodeRange;

use crate::input::WorkerId;

/// A worker's latest life.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WorkerIncarnation {
    /// Which of its lives.
    pub number: u32,
    /// What it offers, or offered.
    pub nodes: NodeRange,
    /// Whether it is there.
    pub up: bool,
}

/// Every worker there ever was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IncarnationTable(BTreeMap<WorkerId, WorkerIncarnation>);

impl IncarnationTable {
    pub(crate) fn get(&self, id: WorkerId) -> Option<WorkerIncarnation> {
        self.0.get(&id).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkerId, WorkerIncarnation)> + '_ {
        self.0.iter().map(|(&id, &life)| (id, life))
    }

    pub(crate) fn set(&mut self, id: WorkerId, worker: WorkerIncarnation) {
        self.0.insert(id, worker);
    }
}
