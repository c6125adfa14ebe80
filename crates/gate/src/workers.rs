//! Who offers which nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::NodeRange;

use crate::input::WorkerId;

/// A worker's latest life.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Life {
    /// Which of its lives.
    pub epoch: u32,
    /// What it offers, or offered.
    pub nodes: NodeRange,
    /// Whether it is there.
    pub up: bool,
}

/// Every worker there ever was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Workers(BTreeMap<WorkerId, Life>);

impl Workers {
    pub(crate) fn get(&self, id: WorkerId) -> Option<Life> {
        self.0.get(&id).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (WorkerId, Life)> + '_ {
        self.0.iter().map(|(&id, &life)| (id, life))
    }

    pub(crate) fn set(&mut self, id: WorkerId, worker: Life) {
        self.0.insert(id, worker);
    }
}
