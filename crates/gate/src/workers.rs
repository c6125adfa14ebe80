//! Workers and their nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{EvictionCause, NodeRange};

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
    /// Whether an operator lets no other job start on its nodes, or the worker is about to leave.
    pub drained: bool,
    /// Why its host is in use by others, so that no other job starts there for now; None if it is free.
    pub in_use: Option<EvictionCause>,
}

impl WorkerIncarnation {
    /// Returns whether other jobs can start on its nodes while it is up.
    pub const fn starts_jobs(&self) -> bool {
        !self.drained && self.in_use.is_none()
    }
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
