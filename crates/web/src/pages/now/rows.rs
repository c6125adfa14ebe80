//! The nodes of a machine as rows of a chart.

use std::collections::BTreeMap;

use tollgate_client::types::{NodeAvailability, NodeList, NodeSpan};

use crate::charts::timeline::TimelineRow;

/// Maximum number of rows.
const MAX_ROWS: usize = 64;

/// The nodes as rows.
pub(super) struct ChartNodeRows {
    pub(super) rows: Vec<TimelineRow>,
    /// Number of nodes that have no row.
    pub(super) n_hidden: usize,
    of_node: BTreeMap<u32, usize>,
}

impl ChartNodeRows {
    /// Returns the rows of all nodes that are there.
    pub(super) fn of(list: &NodeList) -> Self {
        let there = list.nodes.iter();
        let there = there.filter(|node| node.state != NodeAvailability::Down);
        let all: Vec<_> = there.collect();
        let shown = || all.iter().take(MAX_ROWS);
        let rows = shown().map(|node| TimelineRow {
            long: match &node.worker {
                Some(worker) => format!("{worker} {}", node.id),
                None => format!("node {}", node.id),
            },
            short: node.id.to_string(),
        });
        Self {
            rows: rows.collect(),
            n_hidden: all.len().saturating_sub(MAX_ROWS),
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
