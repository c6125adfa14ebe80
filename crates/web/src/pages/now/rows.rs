//! The nodes of a machine as rows of a chart.

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_client::types::{NodeAvailability, NodeList, NodeSpan};

use crate::charts::timeline::TimelineRow;

/// Maximum number of rows of a chart. Other nodes are in other parts.
const MAX_ROWS: usize = 64;

/// A part of the nodes, counted from 1 in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NodePart {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Number of all nodes.
    pub(super) all: usize,
    /// The number of nodes before the part before. None for the first part.
    pub(super) before: Option<usize>,
    /// The number of nodes before the next part. None for the last part.
    pub(super) after: Option<usize>,
}

/// The nodes as rows.
pub(super) struct ChartNodeRows {
    pub(super) rows: Vec<TimelineRow>,
    /// The part of the nodes that has rows.
    pub(super) part: NodePart,
    of_node: BTreeMap<u32, usize>,
}

impl ChartNodeRows {
    /// Returns the rows of nodes that are there, from the `first` of them on.
    pub(super) fn of(list: &NodeList, first: usize) -> Self {
        let there = list.nodes.iter();
        let there = there.filter(|node| node.state != NodeAvailability::Down);
        let all: Vec<_> = there.collect();
        let first = first.min(all.len().saturating_sub(1)) / MAX_ROWS * MAX_ROWS;
        let shown = || all.iter().skip(first).take(MAX_ROWS);
        let rows = shown().map(|node| TimelineRow {
            long: match &node.worker {
                Some(worker) => format!("{worker} {}", node.id),
                None => format!("node {}", node.id),
            },
            short: node.id.to_string(),
        });
        Self {
            rows: rows.collect(),
            part: NodePart {
                first: first + 1,
                last: (first + MAX_ROWS).min(all.len()),
                all: all.len(),
                before: first.checked_sub(MAX_ROWS),
                after: Some(first + MAX_ROWS).filter(|after| *after < all.len()),
            },
            of_node: shown().map(|node| node.id).zip(0..).collect(),
        }
    }

    /// Returns the rows of nodes, as far as these have one.
    pub(super) fn of_spans(&self, spans: &[NodeSpan]) -> Vec<usize> {
        let rows = spans
            .iter()
            .flat_map(|span| self.of_node.range(span.first..=span.last));
        rows.map(|(_, row)| *row).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(n_nodes: u32, first: usize) -> (NodePart, Vec<usize>) {
        let nodes = (0..n_nodes).map(|id| json!({"id": id, "state": "idle", "tasks": 0}));
        let list = json!({"nodes": nodes.collect::<Vec<_>>(), "workers": [], "resources": [], "enforced": [], "memory_per_node_bytes": 0});
        let rows = ChartNodeRows::of(&serde_json::from_value(list).unwrap(), first);
        let all = NodeSpan {
            first: 0,
            last: u32::MAX,
        };
        (rows.part, rows.of_spans(&[all]))
    }

    #[test]
    fn nodes_of_a_large_machine_are_in_parts() {
        let (first, rows) = part(150, 0);
        assert_eq!(
            (first.first, first.last, first.before, first.after),
            (1, 64, None, Some(64))
        );
        assert_eq!(rows, (0..64).collect::<Vec<_>>());
        let (last, rows) = part(150, 140);
        assert_eq!(
            (last.first, last.last, last.before, last.after),
            (129, 150, Some(64), None)
        );
        assert_eq!(rows.len(), 22);
        // A part of a machine that was larger, or of none.
        assert_eq!(part(64, 640).0.last, 64);
        assert_eq!(part(0, 64).0.after, None);
    }
}
