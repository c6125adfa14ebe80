//! Jobs of workers that vanish or come back.

use tollgate_gate::{GateInput, WorkerId};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptReport, EvictionCause, NodeId, NodeRange, TaskId,
};

use crate::core::Core;
use crate::eviction::Verdict;
use crate::output::{CommandError, EngineAction, HostUse, RowChange, StepOutput};

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
        let mut dedicated = Vec::new();
        if let Some(life) = life.filter(|life| life.up && life.number == epoch) {
            for attempt in self.running_on(life.nodes) {
                step.changes.push(RowChange::AttemptReported(AttemptReport {
                    attempt,
                    event: AttemptEvent::Lost { at: self.now },
                }));
                let held = self.held_until_now(attempt.task());
                self.learn_loss(attempt.task(), step);
                step.changes.push(RowChange::WorkerLost { attempt, worker });
                step.actions.push(EngineAction::Kill { attempt });
                self.lose_followers_of(attempt, step);
                match self.judge_eviction(attempt.task(), EvictionCause::Lost, held, step) {
                    Verdict::Requeue => {}
                    Verdict::Dedicate => dedicated.push(attempt.task()),
                    Verdict::Abandon => self.abandon(attempt.task(), step)?,
                }
            }
        }
        self.apply_input(
            GateInput::WorkerLost {
                worker,
                incarnation: epoch,
            },
            step,
        )?;
        self.note_desktop(worker, (false, None));
        for task in dedicated {
            self.dedicate(task);
        }
        Ok(())
    }

    /// Lets no other task start on a worker whose host is in use, or lets tasks start there again.
    pub(crate) fn use_worker(
        &mut self,
        (worker, incarnation): (WorkerId, u32),
        cause: Option<EvictionCause>,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        self.withdraw_all(step);
        let input = GateInput::WorkerInUse {
            worker,
            incarnation,
            in_use: cause,
        };
        self.apply_input(input, step)?;
        self.note_use(worker, cause, step);
        self.note_desktop(worker, (true, cause));
        Ok(())
    }

    /// Returns why a running task is suspended or about to be evicted, if a user of its host is the cause. Outside
    /// hours it goes on, or is evicted at once.
    pub fn suspended_by(&self, task: impl Into<TaskId>) -> Option<EvictionCause> {
        let live = self
            .jobs
            .get(task.into())
            .filter(|live| live.is_running())?;
        let view = self.gate.view(self.now);
        let placement = view.find_job(live.slot)?.placement();
        let is_there = |nodes: NodeRange| {
            let mut own = placement.iter().flat_map(|range| range.nodes());
            own.any(|node| nodes.contains(node))
        };
        let mut workers = self.gate.workers().filter(|(_, live)| live.up);
        let of_user = |cause: &EvictionCause| cause.is_of_user();
        workers.find_map(|(_, live)| {
            let cause = live.in_use.filter(of_user);
            cause.filter(|_| is_there(live.nodes))
        })
    }

    /// Returns the number of running tasks for which [`Self::suspended_by`] has a cause.
    pub fn n_suspended(&self) -> usize {
        let in_use = |cause: Option<EvictionCause>| cause.is_some_and(EvictionCause::is_of_user);
        if !self.gate.workers().any(|(_, live)| in_use(live.in_use)) {
            return 0;
        }
        let tasks = self.tasks();
        tasks
            .filter(|(task, _)| self.suspended_by(*task).is_some())
            .count()
    }

    /// Records that a worker's host came into use, or is free.
    pub(crate) fn note_use(
        &self,
        worker: WorkerId,
        cause: Option<EvictionCause>,
        step: &mut StepOutput,
    ) {
        let view = self.gate.view(self.now);
        let host = self.gate.worker(worker);
        let host = host.and_then(|live| view.host_of(live.nodes));
        let name = host.and_then(|host| view.hosts()[host].terms.name);
        if let Some(name) = name.and_then(|name| self.host_names.name_of(name)) {
            let host = name.to_owned();
            step.host_uses.push(HostUse { host, cause });
        }
    }

    fn running_on(&self, nodes: NodeRange) -> Vec<AttemptId> {
        let view = self.gate.view(self.now);
        let touches = |range: &NodeRange| range.touches(nodes);
        let running = self.jobs.iter().filter(|(_, live)| live.is_running());
        let there = running.filter(|(_, live)| view.job(live.slot).placement().iter().any(touches));
        there.map(|(job, live)| live.attempt_key(job)).collect()
    }
}
