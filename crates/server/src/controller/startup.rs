//! Startup: a service continues from the state that the last one stored.

use std::collections::BTreeSet;
use std::io;

use tollgate_engine::{AttemptPart, Engine, EngineError};
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, NodeId, NodeRange};

use tollgate_service::{EngineAction, HostOffer, LOCAL_WORKER, ServiceCommand};
use tollgate_store::StoreError;

use super::commit::CommandData;
use super::state::Controller;

/// Width up to which jobs wait for workers, where the service never offered a node of its own.
const EXPECTED_NODES: u32 = 1_024;

/// An error that keeps the controller from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The host's clock cannot be taken, because this number of jobs is unfinished.
    #[error("the host's clock cannot be accepted while jobs are unfinished: {0}")]
    ClockInUse(usize),
    /// The thread cannot be started.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
}

impl<E: Engine> Controller<E> {
    /// Reconciles gate and engine: offers this host's nodes, starts the attempts that the engine
    /// lacks, and ends the engine's attempts that the gate does not want.
    ///
    /// # Errors
    /// If the engine cannot be asked, or the store cannot be written.
    pub fn reconcile(&mut self) -> Result<(), StartError> {
        let commands = match self.offers_local_nodes {
            true => self.offer_local_nodes()?,
            false => self.withdraw_local_nodes(),
        };
        if !commands.is_empty() {
            let at = self.now();
            let step = self.commit(at, &commands, &CommandData::default())?;
            self.pending_actions.extend(step.actions);
        }
        self.disk_full = !self.store.keep_reserve();
        // Workers have their grace period from now on, and their attempts are assumed to run on
        // them.
        self.workers.sync_with_gate(self.core.gate());
        for order in self.core.running_actions() {
            if let EngineAction::Start { attempt, nodes, .. } = order {
                let (worker, _) = self.workers.locate(&nodes);
                self.workers.assign(attempt, worker);
                let streams = self.written_streams(attempt.job);
                self.workers.set_streams(attempt, streams);
            }
        }
        let running = self.workers.running_locally()?;
        self.workers.reconcile_running(LOCAL_WORKER, &running);
        self.resync_worker(LOCAL_WORKER, &running);
        self.dispatch();
        Ok(())
    }

    /// Returns the commands that take this host's nodes away. A service that never had any gets nodes that
    /// are down. So jobs that are no wider wait for workers, instead of being rejected as too wide for a
    /// cluster of none.
    fn withdraw_local_nodes(&self) -> Vec<ServiceCommand> {
        let lost = |incarnation| ServiceCommand::WorkerLost {
            worker: LOCAL_WORKER,
            incarnation,
        };
        match self.core.gate().worker(LOCAL_WORKER) {
            Some(live) if live.up => vec![lost(live.number)],
            Some(_) => Vec::new(),
            None => {
                // No job was submitted before, so none starts on these nodes.
                let expected = ServiceCommand::WorkerUp {
                    worker: LOCAL_WORKER,
                    incarnation: 1,
                    nodes: EXPECTED_NODES,
                    memory: None,
                    // No plan counts on a host that has closed.
                    offer: HostOffer {
                        name: self.host.clone(),
                        closes: Some(self.core.now()),
                        ..HostOffer::default()
                    },
                };
                vec![expected, lost(1)]
            }
        }
    }

    /// Returns the commands that offer this host's nodes, if they are not offered as they are.
    fn offer_local_nodes(&mut self) -> Result<Vec<ServiceCommand>, StartError> {
        let capacity = self.workers.capacity()?;
        let nodes = capacity.nodes;
        let memory = capacity.node_memory();
        let known = self.core.gate().worker(LOCAL_WORKER);
        // A change of memory, devices or name alone is no reason to evict tasks from the nodes.
        let idle = self.core.running_actions().is_empty();
        let view = self.core.gate().view(self.core.now());
        let names = self.core.resource_names();
        let reported = |range: NodeRange| {
            let host = view.host_of(range).map(|host| &view.hosts()[host]);
            let devices = host.map(|host| names.named(&host.terms.devices));
            let name = host.and_then(|host| self.core.host_names().name_of(host.terms.name?));
            (view.node(NodeId(range.first)).memory(), devices, name)
        };
        let name = Some(self.host.as_str());
        let offered = (memory, Some(capacity.devices.clone()), name);
        let is_other = |range: NodeRange| range.len != nodes || idle && reported(range) != offered;
        let mut commands = Vec::new();
        if let Some(life) = known.filter(|life| life.up && is_other(life.nodes)) {
            let epoch = life.number;
            commands.push(ServiceCommand::WorkerLost {
                worker: LOCAL_WORKER,
                incarnation: epoch,
            });
        }
        if known.is_none_or(|life| !life.up || is_other(life.nodes)) {
            commands.push(ServiceCommand::WorkerUp {
                worker: LOCAL_WORKER,
                incarnation: known.map_or(1, |life| life.number + 1),
                nodes,
                memory,
                offer: HostOffer {
                    name: self.host.clone(),
                    closes: None,
                    devices: capacity.devices.clone(),
                    is_desktop: false,
                    in_use: None,
                },
            });
        }
        Ok(commands)
    }

    /// Takes the host's clock, if the service's is ahead of it by more than a minute. Must be called before [`Controller::reconcile`].
    ///
    /// # Errors
    /// If a job is unfinished, or the store cannot be written.
    pub fn accept_host_clock(&mut self) -> Result<(), StartError> {
        let Some(at) = self.clock.host_if_behind() else {
            return Ok(());
        };
        let back_s = self.core.now().since(at).as_secs_f64();
        self.core.set_back(at).map_err(StartError::ClockInUse)?;
        self.store.save(&mut self.core)?;
        self.clock.restart_after(at);
        tracing::warn!(back_s, "the service's clock was set back to the host's");
        Ok(())
    }

    /// Reports every attempt as lost that runs according to a store restored from a backup. Returns
    /// the number of these attempts. Must be called before [`Controller::reconcile`].
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn lose_running_attempts(&mut self) -> Result<usize, StoreError> {
        self.lose_attempts(|_| true)
    }

    /// Reports every attempt as lost that runs on this host according to the store, because the host was
    /// booted since. The runner's record of them need not have reached the disk. Returns the number of these
    /// attempts. Must be called before [`Controller::reconcile`].
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn lose_local_attempts(&mut self) -> Result<usize, StoreError> {
        self.lose_attempts(|worker| worker == Some(LOCAL_WORKER))
    }

    fn lose_attempts(
        &mut self,
        is_lost: impl Fn(Option<WorkerId>) -> bool,
    ) -> Result<usize, StoreError> {
        let at = self.now();
        let running = self.core.running_actions().into_iter();
        let lost: Vec<ServiceCommand> = running
            .filter_map(|order| match order {
                EngineAction::Start { attempt, nodes, .. } => is_lost(self.main_worker(&nodes))
                    .then_some(ServiceCommand::Report(AttemptReport {
                        attempt,
                        event: AttemptEvent::Lost { at },
                    })),
                EngineAction::SetShare { .. }
                | EngineAction::Kill { .. }
                | EngineAction::Withdraw { .. }
                | EngineAction::Continued { .. } => None,
            })
            .collect();
        if !lost.is_empty() {
            // `begin` starts the next attempts, together with all others that have to run.
            self.commit(at, &lost, &CommandData::default())?;
        }
        Ok(lost.len())
    }

    /// Brings a worker up to date: restarts wanted attempts that it does not run, ends unwanted
    /// ones, and repeats the standing orders for the others.
    pub(super) fn resync_worker(&mut self, worker: WorkerId, running: &BTreeSet<AttemptId>) {
        let is_there = |nodes: &[NodeId]| self.workers.locate(nodes).0 == worker;
        let runs = |attempt: &AttemptId| running.contains(attempt);
        let mut expected = BTreeSet::new();
        let mut live = BTreeSet::new();
        let mut actions = Vec::new();
        for order in self.core.running_actions() {
            let EngineAction::Start { attempt, nodes, .. } = &order else {
                continue;
            };
            live.insert(*attempt);
            if is_there(nodes) {
                expected.insert(*attempt);
                // A running attempt goes on, even if its user has no account any more.
                actions.extend(Some(order.clone()).filter(|_| !runs(attempt)));
            }
        }
        let is_expected = |attempt| expected.contains(&attempt);
        self.workers.drop_unconfirmed(worker, is_expected);
        let repeated = self.core.resync_actions().into_iter();
        actions.extend(repeated.filter(|order| match order {
            EngineAction::SetShare { attempt, .. }
            | EngineAction::Kill { attempt }
            | EngineAction::Withdraw { attempt } => expected.contains(attempt),
            EngineAction::Start { .. } | EngineAction::Continued { .. } => false,
        }));
        // A part goes on with its attempt, which runs on another host.
        let is_part_of_live =
            |id: &AttemptId| AttemptPart::of(*id).is_some_and(|part| live.contains(&part.whole()));
        let strays = running.difference(&expected).copied();
        let strays = strays.filter(|id| !is_part_of_live(id));
        actions.extend(strays.map(|attempt| EngineAction::Kill { attempt }));
        self.pending_actions.extend(actions);
    }
}
