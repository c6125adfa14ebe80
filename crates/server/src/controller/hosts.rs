//! The hosts of attempts.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, NodeId, NodeRange};
use tollgate_service::{EngineAction, TaskRanges};
use tollgate_store::AttemptHosts;

use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Returns the hosts of the attempts that `actions` start: the names of workers, or of this host.
    pub(super) fn hosts_of(&self, actions: &[EngineAction]) -> BTreeMap<AttemptId, AttemptHosts> {
        let starts = actions.iter().filter_map(|action| match action {
            EngineAction::Start { attempt, nodes, .. }
            | EngineAction::Continued { attempt, nodes } => Some((*attempt, nodes)),
            EngineAction::SetShare { .. }
            | EngineAction::Kill { .. }
            | EngineAction::Withdraw { .. } => None,
        });
        starts
            .map(|(attempt, nodes)| (attempt, self.host_of(nodes)))
            .collect()
    }

    /// Returns the hosts of nodes; an attempt on them runs where most of them are.
    fn host_of(&self, nodes: &[NodeId]) -> AttemptHosts {
        let parts = self.host_parts(nodes);
        let all = parts.iter().map(|(host, count)| format!("{host}:{count}"));
        let all = (parts.len() > 1).then(|| all.collect::<Vec<_>>().join(","));
        let first = parts.into_iter().map(|(host, _)| host).next();
        let numbers: TaskRanges = nodes.iter().map(|node| (node.0, node.0)).collect();
        AttemptHosts {
            nodes: numbers.to_string(),
            main: first.unwrap_or_else(|| self.host.clone()),
            all,
        }
    }

    /// Returns the hosts of nodes with the number of nodes on each; the one with most of them first. The
    /// gate knows the nodes of a worker that comes in this step; the pool of workers learns of them later.
    pub(super) fn host_parts(&self, nodes: &[NodeId]) -> Vec<(String, usize)> {
        let parts = self.worker_parts(nodes).into_iter();
        parts
            .map(|(worker, count)| (self.host_name(worker), count))
            .collect()
    }

    /// Returns the worker with most of the nodes, on which an attempt runs.
    pub(super) fn main_worker(&self, nodes: &[NodeId]) -> Option<WorkerId> {
        let parts = self.worker_parts(nodes);
        parts.first().map(|&(worker, _)| worker)
    }

    fn worker_parts(&self, nodes: &[NodeId]) -> Vec<(WorkerId, usize)> {
        let workers = self.core.gate().workers().filter(|(_, live)| live.up);
        let count = |range: NodeRange| nodes.iter().filter(|&&node| range.contains(node)).count();
        let mut parts: Vec<(WorkerId, usize)> = workers
            .map(|(worker, live)| (worker, count(live.nodes)))
            .filter(|&(_, count)| count > 0)
            .collect();
        parts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        parts
    }
}
