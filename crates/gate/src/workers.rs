//! Who offers which nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::NodeRange;

use crate::input::WorkerId;

/// A worker's latest life.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Worker {
    pub(crate) epoch: u32,
    pub(crate) nodes: NodeRange,
    pub(crate) up: bool,
}

/// Every worker there ever was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Workers(BTreeMap<WorkerId, Worker>);

impl Workers {
    pub(crate) fn get(&self, id: WorkerId) -> Option<Worker> {
        self.0.get(&id).copied()
    }

    pub(crate) fn set(&mut self, id: WorkerId, worker: Worker) {
        self.0.insert(id, worker);
    }
}
