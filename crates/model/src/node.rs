//! Nodes, where jobs run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A machine, by its index in the cluster. For space-shared policies a node is one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the node as an index into columns.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of consecutive nodes: `len` of them from `first` on. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeRange {
    /// The lowest node.
    pub first: u32,
    /// Number of nodes; at least 1.
    pub len: u32,
}

impl NodeRange {
    /// Returns the nodes in ascending order.
    pub fn nodes(self) -> impl Iterator<Item = NodeId> {
        (self.first..self.first + self.len).map(NodeId)
    }

    /// Returns whether `node` is in the range.
    pub const fn contains(self, node: NodeId) -> bool {
        node.0 >= self.first && node.0 - self.first < self.len
    }

    /// Returns whether some node is in both ranges.
    pub const fn touches(self, other: Self) -> bool {
        self.first < other.first + other.len && other.first < self.first + self.len
    }
}

/// Writes `7`, or `0-3` for several nodes.
impl fmt::Display for NodeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len {
            1 => write!(f, "{}", self.first),
            _ => write!(f, "{}-{}", self.first, self.first + self.len - 1),
        }
    }
}
