//! One node of a batch system, as an engine.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::BatchNode;
use tollgate_engine::capacity::{
    CpuPinning, MemoryEnforcement, ProcessEnforcement, ShareEnforcement, TreeTracking,
};
use tollgate_engine::launch::check_shares;
use tollgate_engine::{
    BootTime, Engine, EngineCapacity, EngineError, LaunchSpec, OutputAnswer, OutputRead,
    RunningAttempt, SuspendedAttempt, WakeCallback,
};
use tollgate_model::{AttemptId, AttemptReport, KillReason, WarningSignal};
use tollgate_runner::attempt::files::OfferedAttempt;
use tollgate_runner::attempt::read_output;

use crate::BatchSystem;
use crate::system::{SystemShared, SystemState};

/// A node of a batch system. Its cores are the nodes of the engine, numbered from 0; attempts are jobs of the
/// batch system on the node.
///
/// It departs from other engines in these points, all of which [`EngineCapacity`] reports. Shares are not
/// enforced, memory and processors are left to the batch system, and attempts run as the engine's own user.
/// There is no lease: a job goes on without the service, because the next service finds it.
pub struct BatchEngine {
    system: Arc<BatchSystem>,
    node: String,
    outputs: Vec<OutputAnswer>,
}

impl BatchEngine {
    pub(crate) fn new(system: Arc<BatchSystem>, node: String) -> Self {
        Self {
            system,
            node,
            outputs: Vec::new(),
        }
    }

    fn shared(&self) -> &SystemShared {
        &self.system.shared
    }

    fn node(&self, state: &SystemState) -> Result<BatchNode, EngineError> {
        let mut nodes = state.nodes.iter();
        let node = nodes.find(|node| node.name == self.node);
        node.cloned().ok_or_else(|| EngineError::Unreachable {
            reason: format!("the batch system has no node {}", self.node),
        })
    }

    fn check(launch: &LaunchSpec, nodes: u32) -> Result<(), EngineError> {
        launch.validate(nodes)?;
        let own = rustix::process::geteuid().as_raw();
        match &launch.user {
            Some(user) if user.uid != own => Err(EngineError::Invalid {
                attempt: launch.attempt,
                field: "user",
                expected: "the service's own user",
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn folder_error(&self, step: &'static str) -> impl FnOnce(io::Error) -> EngineError + use<> {
        let path = self.shared().config.folder.clone();
        move |source| EngineError::Setup { path, step, source }
    }

    fn offer(&self, launch: &LaunchSpec, node: &BatchNode) -> OfferedAttempt {
        let cores = u32::try_from(launch.nodes.len()).unwrap_or(u32::MAX);
        let per_core = node
            .memory
            .map(|memory| memory.as_u64() / u64::from(node.cores));
        let share = per_core.map(|bytes| bytes.saturating_mul(u64::from(cores)));
        let grace = self.shared().config.grace;
        OfferedAttempt {
            launch: LaunchSpec {
                user: None,
                ..launch.clone()
            },
            node: self.node.clone(),
            cores,
            memory: launch.limits.memory.or(share),
            grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Engine for BatchEngine {
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        let node = self.node(&self.shared().lock())?;
        let memory = node.memory.map_or(0, |memory| memory.as_u64());
        Ok(EngineCapacity {
            nodes: node.cores,
            memory_per_node: memory / u64::from(node.cores),
            shares: ShareEnforcement::Unenforced,
            pinning: CpuPinning::BatchSystem,
            memory: MemoryEnforcement::BatchSystem,
            processes: ProcessEnforcement::Unenforced,
            tree: TreeTracking::Subreaper,
            other_users: false,
            devices: BTreeMap::new(),
        })
    }

    /// Submits attempts. Their launches are on disk when this returns; the jobs are submitted in the
    /// background.
    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError> {
        let shared = self.shared();
        let mut state = shared.lock();
        let node = self.node(&state)?;
        for launch in launches {
            Self::check(launch, node.cores)?;
        }
        let offers = launches.iter().map(|launch| self.offer(launch, &node));
        let offered = state.book.offer(offers.collect());
        offered.map_err(self.folder_error("writing launches down"))?;
        shared.submissions.notify_all();
        shared.questions.notify_all();
        Ok(())
    }

    /// Checks the weights, and does nothing: no batch system has shares of single processors.
    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
        check_shares(shares)
    }

    fn kill(&mut self, attempts: &[AttemptId], why: KillReason) -> Result<(), EngineError> {
        let shared = self.shared();
        let mut state = shared.lock();
        let mut killed = Ok(());
        for &attempt in attempts {
            killed = killed.and_then(|()| state.book.kill(attempt, why));
        }
        shared.deliver(&mut state);
        shared.questions.notify_all();
        killed.map_err(self.folder_error("writing the end of attempts down"))
    }

    /// Refuses: a batch system sends signals to whole jobs, and with them to the process that watches the task.
    fn signal(&mut self, _: &[AttemptId], _: WarningSignal) -> Result<(), EngineError> {
        let what = "signals to jobs of the batch system";
        Err(EngineError::Unsupported { what })
    }

    /// Refuses: the batch system decides what it suspends.
    fn suspend(&mut self, _: &[AttemptId]) -> Result<Vec<SuspendedAttempt>, EngineError> {
        let what = "suspension of jobs of the batch system";
        Err(EngineError::Unsupported { what })
    }

    /// Refuses, as [`BatchEngine::suspend`].
    fn resume(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.suspend(attempts).map(drop)
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError> {
        let shared = self.shared();
        let deadline = MonotonicInstant::now() + timeout;
        let mut state = shared.lock();
        loop {
            let mailbox = state.mailboxes.get_mut(&self.node);
            let reports = mailbox.map(|mailbox| std::mem::take(&mut mailbox.reports));
            let reports: Vec<AttemptReport> = reports.unwrap_or_default().into();
            let left = deadline.saturating_duration_since(MonotonicInstant::now());
            if !reports.is_empty() || left.is_zero() {
                return Ok(reports);
            }
            let woken = shared.arrivals.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        let mut state = self.shared().lock();
        let forgotten = state.book.acknowledge(attempts);
        forgotten.map_err(self.folder_error("forgetting attempts"))
    }

    /// Does nothing: the engine has no lease.
    fn renew_lease(&mut self, _: BootTime) -> Result<(), EngineError> {
        Ok(())
    }

    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError> {
        Ok(self.shared().lock().book.running(&self.node))
    }

    fn request_outputs(&mut self, reads: &[OutputRead]) -> Result<(), EngineError> {
        for read in reads {
            let launch = self.shared().lock().book.launch(read.attempt).cloned();
            self.outputs.push(read_output(read, launch.as_ref()));
        }
        let state = self.shared().lock();
        let mailbox = state.mailboxes.get(&self.node);
        if let Some(wake) = mailbox.and_then(|mailbox| mailbox.wake.clone()) {
            wake();
        }
        Ok(())
    }

    fn take_outputs(&mut self) -> Vec<OutputAnswer> {
        std::mem::take(&mut self.outputs)
    }

    fn on_report(&mut self, wake: WakeCallback) {
        if let Some(mailbox) = self.shared().lock().mailboxes.get_mut(&self.node) {
            mailbox.wake = Some(wake);
        }
    }
}
