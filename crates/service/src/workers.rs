//! Jobs of workers that vanish or come back.

use tollgate_gate::{GateInput, WorkerId};
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, NodeId, NodeRange};

use crate::core::Core;
use crate::output::{CommandError, EngineAction, RowChange, StepOutput};

impl Core {
    /// Returns the actions to repeat for every running attempt whose engine may have missed
    /// something: its share, and its kill if it is being cancelled.
    pub fn resync_actions(&self) -> Vec<EngineAction> {
        let mut step = StepOutput::default();
        let view = self.gate.view(self.now);
        for node in (0..view.n_nodes()).map(NodeId) {
            self.set_shares(node, &mut step);
        }
        let running = self.jobs.iter().filter(|(_, live)| live.is_running());
        let ending = running.filter(|(_, live)| view.job(live.slot).cancelling);
        let kills = ending.map(|(job, live)| EngineAction::Kill {
            attempt: live.attempt_key(job),
        });
        let kills = kills.chain(self.follower_ends());
        step.actions.into_iter().chain(kills).collect()
    }

    /// Reports all attempts on the worker's nodes as lost. Their parts on other workers are ended.
    pub(crate) fn lose_worker(
        &mut self,
        worker: WorkerId,
        epoch: u32,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let life = self.gate.worker(worker);
        if let Some(life) = life.filter(|life| life.up && life.number == epoch) {
            for attempt in self.running_on(life.nodes) {
                step.changes.push(RowChange::AttemptReported(AttemptReport {
                    attempt,
                    event: AttemptEvent::Lost { at: self.now },
                }));
                self.learn_loss(attempt.task(), step);
                step.changes.push(RowChange::WorkerLost { attempt, worker });
                step.actions.push(EngineAction::Kill { attempt });
                self.lose_followers_of(attempt, step);
            }
        }
        self.apply_input(
            GateInput::WorkerLost {
                worker,
                incarnation: epoch,
            },
            step,
        )
    }

    fn running_on(&self, nodes: NodeRange) -> Vec<AttemptId> {
        let view = self.gate.view(self.now);
        let touches = |range: &NodeRange| {
            range.first < nodes.first + nodes.len && nodes.first < range.first + range.len
        };
        let running = self.jobs.iter().filter(|(_, live)| live.is_running());
        let there = running.filter(|(_, live)| view.job(live.slot).placement().iter().any(touches));
        there.map(|(job, live)| live.attempt_key(job)).collect()
    }
}
