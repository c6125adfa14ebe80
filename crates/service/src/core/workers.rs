//! What happens to jobs when a worker vanishes or comes back.

use tollgate_gate::{Input, WorkerId};
use tollgate_model::{NodeId, NodeRange};

use super::{AttemptKey, Change, Core, Fate, Ignored, Order, Step};

impl Core {
    /// What every attempt that runs is to be told again after it may have missed something: its
    /// share, and whether it is to end.
    pub fn standing_orders(&self) -> Vec<Order> {
        let mut step = Step::default();
        let view = self.gate.view(self.now);
        for node in (0..view.n_nodes()).map(NodeId) {
            self.set_shares(node, &mut step);
        }
        let running = self.jobs.iter().filter(|(_, live)| live.runs());
        let ending = running.filter(|(_, live)| view.job(live.slot).cancelling);
        let kills = ending.map(|(job, live)| Order::Kill {
            attempt: live.attempt_key(job),
        });
        step.orders.into_iter().chain(kills).collect()
    }

    /// Whatever runs on the worker's nodes is lost with it. What of it runs elsewhere is ended.
    pub(super) fn lose_worker(
        &mut self,
        worker: WorkerId,
        epoch: u32,
        step: &mut Step,
    ) -> Result<(), Ignored> {
        let life = self.gate.worker(worker);
        if let Some(life) = life.filter(|life| life.up && life.epoch == epoch) {
            for attempt in self.running_on(life.nodes) {
                let fate = Fate::Lost { at: self.now };
                step.changes.push(Change::Fate { attempt, fate });
                step.changes.push(Change::WorkerLost { attempt, worker });
                step.orders.push(Order::Kill { attempt });
            }
        }
        self.input(Input::WorkerGone { worker, epoch }, step)
    }

    fn running_on(&self, nodes: NodeRange) -> Vec<AttemptKey> {
        let view = self.gate.view(self.now);
        let touches = |range: &NodeRange| {
            range.first < nodes.first + nodes.len && nodes.first < range.first + range.len
        };
        let running = self.jobs.iter().filter(|(_, live)| live.runs());
        let there = running.filter(|(_, live)| view.job(live.slot).placement().iter().any(touches));
        there.map(|(job, live)| live.attempt_key(job)).collect()
    }
}
