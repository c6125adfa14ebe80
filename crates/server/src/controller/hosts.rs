//! The hosts of attempts.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, NodeId, NodeRange};
use tollgate_service::{EngineAction, LOCAL_WORKER};

use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Returns the hosts of the attempts that `actions` start: the names of workers, or of this host.
    pub(super) fn hosts_of(&self, actions: &[EngineAction]) -> BTreeMap<AttemptId, String> {
        let starts = actions.iter().filter_map(|action| match action {
            EngineAction::Start { attempt, nodes } => Some((*attempt, nodes)),
            EngineAction::SetShare { .. } | EngineAction::Kill { .. } => None,
        });
        starts
            .map(|(attempt, nodes)| (attempt, self.host_of(nodes)))
            .collect()
    }

    /// Returns the host of most of the nodes. The gate knows the nodes of a worker that comes in this
    /// step; the pool of workers learns of them later.
    fn host_of(&self, nodes: &[NodeId]) -> String {
        let workers = self.core.gate().workers().filter(|(_, live)| live.up);
        let count = |range: NodeRange| {
            let inside = |node: &&NodeId| {
                let place = node.0.checked_sub(range.first);
                place.is_some_and(|place| place < range.len)
            };
            nodes.iter().filter(inside).count()
        };
        let parts = workers.map(|(worker, live)| (worker, count(live.nodes)));
        let most = parts.reduce(|most, next| if next.1 > most.1 { next } else { most });
        let worker: WorkerId = most.map_or(LOCAL_WORKER, |(worker, _)| worker);
        match worker {
            LOCAL_WORKER => self.host.clone(),
            worker => self.workers.name_of(worker),
        }
    }
}
