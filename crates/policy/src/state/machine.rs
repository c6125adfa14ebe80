//! The nodes of the machine: added, removed and drained, with their limits.

use serde::{Deserialize, Serialize};
use tollgate_model::{MachineSpeeds, MaintenanceCalendar, NodeId, NodeRange, Span};

use super::{ClusterState, JobPhase, Node};

/// The limits of nodes besides their processors; None means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeLimits {
    /// Maximum number of tasks that share a node.
    pub(super) tasks: Option<u32>,
    /// The smallest memory of any node, in bytes.
    pub(super) least_memory: Option<u64>,
}

/// Addition and removal of nodes.
impl ClusterState {
    /// Limits the number of tasks per node, if a limit is given; at least 1. Tasks already on a
    /// node stay.
    pub fn set_task_limit(&mut self, most: Option<u32>) {
        self.limits.tasks = most;
    }

    /// Sets the times in which no job runs.
    pub fn set_maintenance(&mut self, calendar: MaintenanceCalendar) {
        self.maintenance = calendar;
    }

    /// Sets the seconds of work that a task loses when it resumes after it stood still, before nodes are
    /// added. Not negative.
    pub fn set_preemption_cost(&mut self, cost: Span) {
        self.preemption_cost = cost.as_secs_f64();
    }

    /// Sets the speeds of the nodes relative to the slowest of them, before nodes are added. All nodes have
    /// the same speed by default. Run times, estimates and forecasts are those on the slowest node.
    pub fn set_speeds(&mut self, speeds: MachineSpeeds) {
        self.speeds = speeds;
    }

    /// Sets the memory of each of these nodes in bytes, if known.
    pub fn set_memory(&mut self, nodes: NodeRange, memory: Option<u64>) {
        for node in nodes.nodes() {
            self.nodes[node.index()].memory = memory;
        }
        let known = self.nodes.iter().filter_map(|node| node.memory);
        self.limits.least_memory = known.min();
    }

    /// Adds `count` nodes, up and idle, and returns them. `count` is at least 1.
    pub fn add_nodes(&mut self, count: u32) -> NodeRange {
        let range = NodeRange {
            first: self.n_nodes,
            len: count,
        };
        self.n_nodes += count;
        let node = Node {
            preemption_cost: self.preemption_cost,
            ..Node::default()
        };
        self.nodes.resize(self.n_nodes as usize, node);
        for node in range.nodes() {
            self.nodes[node.index()].speed = self.speeds.of(node);
            self.up.insert(node);
            self.idle.insert(node);
        }
        range
    }

    /// Marks a node that was down as up.
    pub fn set_up(&mut self, node: NodeId) {
        assert!(self.up.insert(node), "{node:?} is up already");
        self.idle.insert(node);
    }

    /// Marks a node as down. Its tasks must have been ended.
    pub fn set_down(&mut self, node: NodeId) {
        if self.up.remove(node) {
            assert!(self.idle.remove(node), "{node:?} still holds tasks");
        }
    }

    /// Drains a node that is up: its tasks go on, and no other starts there. No other node stands for it.
    pub fn drain(&mut self, node: NodeId) {
        let lead = self.lead_of(node);
        assert!(self.group_size(lead) == 1, "{node:?} is one of a group");
        self.up.remove(node);
        self.idle.remove(node);
    }

    /// Lets tasks start again on a node that was drained.
    pub fn resume(&mut self, node: NodeId) {
        let is_busy = self
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running)
            .any(|(id, _)| self.runs_on(id, node));
        self.up.insert(node);
        if !is_busy {
            self.idle.insert(node);
        }
    }
}
