//! Workers and their nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::NodeRange;

use crate::input::WorkerId;

/// The latest incarnation of a worker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct WorkerIncarnation {
    /// The number of the incarnation.
    pub number: u32,
    /// The nodes that the worker offers, or offered.
    pub nodes: NodeRange,
    /// Whether the worker is up.
    pub up: bool,
    /// Whether no other job starts on its nodes.
    pub drained: bool,
}

/// All workers that ever registered.
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
