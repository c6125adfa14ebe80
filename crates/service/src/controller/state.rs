//! What owns the gate, the store and the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_engine::{AttemptReport, Engine, LaunchLimits, WakeCallback};
use tollgate_gate::WorkerId;
use tollgate_model::{Instant, Span};

use super::response::JobWaiter;
use super::storage_quota::StorageQuota;
use crate::core::{AdmissionRules, Core, EngineAction};
use crate::events::EventLog;
use crate::failpoint::{self, FaultInjector, ServiceFailpoint};
use crate::os_users::{self, RunAsResolver};
use crate::store::{JobProgram, Store, StoreError};
use crate::workers::{MonotonicClock, WorkerPool, WorkerPoolConfig, WorkerSnapshot};

/// How long to wait before something is tried again that failed.
const RETRY_DELAY: Span = Span::from_secs(1);

/// Tells the time; it may go back, and is then taken to stand still.
pub type WallClock = Box<dyn FnMut() -> Instant + Send>;

/// What owns gate, store and engine.
pub struct Controller<E> {
    pub(super) core: Core,
    pub(super) store: Store,
    pub(super) workers: WorkerPool<E>,
    pub(super) clock: WallClock,
    /// Who waits for a job to be over, or to be decided about.
    pub(super) waiters: BTreeMap<u64, Vec<JobWaiter>>,
    /// What the engine said and the store does not know yet.
    pub(super) reports: Vec<AttemptReport>,
    /// Attempts whose ends the store knows, and the engine may forget.
    pub(super) unacknowledged: Vec<tollgate_engine::AttemptKey>,
    /// When to tell it so at the latest.
    pub(super) ack_deadline: Option<Instant>,
    /// What arrays run.
    pub(super) programs: BTreeMap<u64, JobProgram>,
    /// Attempts that cannot run as their user, and end without the engine.
    pub(super) failed_launches: Vec<AttemptReport>,
    pub(super) run_as: RunAsResolver,
    /// How many jobs of one user may be not over.
    pub(super) max_jobs: u32,
    /// How much one user may have stored with jobs that are not over, and how much each has.
    pub(super) stored: StorageQuota,
    /// What a task may use, but for what its job says.
    pub(super) task_limits: LaunchLimits,
    /// What the engine has not been told yet: it could not be reached.
    pub(super) pending_actions: Vec<EngineAction>,
    /// When to try again what failed.
    pub(super) retry_at: Option<Instant>,
    /// Until when the engine is left alone: it could not be reached.
    pub(super) engine_backoff_until: Option<Instant>,
    /// The disk is full: nothing new is taken in, until there is room for a reserve again.
    pub(super) disk_full: bool,
    pub(super) faults: FaultInjector,
    pub(super) log: EventLog,
    /// The workers as the log described them last.
    pub(super) described: BTreeMap<WorkerId, WorkerSnapshot>,
    /// How often the engine could not be told what to do.
    pub(super) engine_failures: u64,
}

impl<E: Engine> Controller<E> {
    /// Takes up where the store left off.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        mut store: Store,
        engine: E,
        rules: &AdmissionRules,
        clock: WallClock,
    ) -> Result<Self, StoreError> {
        let core = store.recover(rules)?;
        let log = EventLog::after_batch(store.batch());
        let stored = store.stored_bytes()?;
        Ok(Self {
            core,
            store,
            workers: WorkerPool::new(engine),
            clock,
            waiters: BTreeMap::new(),
            reports: Vec::new(),
            unacknowledged: Vec::new(),
            ack_deadline: None,
            programs: BTreeMap::new(),
            failed_launches: Vec::new(),
            run_as: Box::new(|user| Some(os_users::own_user(user))),
            max_jobs: u32::MAX,
            stored: StorageQuota::new(stored),
            task_limits: LaunchLimits::default(),
            pending_actions: Vec::new(),
            retry_at: None,
            engine_backoff_until: None,
            disk_full: false,
            faults: failpoint::from_environment(),
            log,
            described: BTreeMap::new(),
            engine_failures: 0,
        })
    }

    /// Has jobs run as whom `run_as` says from now on; without, only those of the service's own user
    /// run.
    pub fn set_run_as(&mut self, run_as: RunAsResolver) {
        self.run_as = run_as;
    }

    /// Lets each user have so many jobs that are not over; without, as many as they like.
    pub fn limit_jobs(&mut self, most: u32) {
        self.max_jobs = most;
    }

    /// Lets each user have so many bytes stored with jobs that are not over: commands, environments
    /// and scripts. Without, as many as they like.
    pub fn limit_stored_bytes(&mut self, most: u64) {
        self.stored.set_max(most);
    }

    /// Lets a task use so much, unless its job says otherwise; without, as much as it likes.
    pub fn limit_tasks(&mut self, limits: LaunchLimits) {
        self.task_limits = limits;
    }

    /// Lets workers come from now on; without, only this host runs anything. `ticks` tells how long they
    /// are away. To be called before [`Controller::begin`].
    ///
    /// # Errors
    /// If it cannot be read who came before.
    pub fn accept_workers(
        &mut self,
        house: WorkerPoolConfig,
        ticks: MonotonicClock,
    ) -> std::io::Result<()> {
        self.workers.accept_workers(house, ticks)
    }

    /// Has `saboteur` told of each moment of a turn from now on.
    pub fn inject_faults(&mut self, saboteur: FaultInjector) {
        self.faults = saboteur;
    }

    /// What happens to jobs from now on.
    pub fn log(&self) -> EventLog {
        self.log.clone()
    }

    /// The state, to look into.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The present instant: never before what was handled last.
    pub fn now(&mut self) -> Instant {
        (self.clock)().max(self.core.now())
    }

    /// When to turn at the latest although nobody asks.
    pub fn next_wake(&self) -> Option<Instant> {
        let own = self.retry_at.into_iter().chain(self.ack_deadline);
        self.core.next_wake().into_iter().chain(own).min()
    }

    /// How long nothing need be done for the workers' sake.
    pub fn max_idle(&mut self) -> Option<Duration> {
        self.workers.max_idle()
    }

    pub(super) fn on_report(&mut self, wake: WakeCallback) {
        self.workers.on_report(wake);
    }

    pub(super) fn failpoint(&mut self, moment: ServiceFailpoint) {
        // Nothing is written at these moments, so that the disk cannot fail.
        let _ = (self.faults)(moment);
    }

    pub(super) fn fallible_failpoint(
        &mut self,
        moment: ServiceFailpoint,
    ) -> Result<(), StoreError> {
        (self.faults)(moment).map_err(|error| self.store.failed(error))
    }

    pub(super) fn log_error(&mut self, error: &dyn std::fmt::Display) {
        tracing::error!("{error}");
        self.retry_at = Some(self.now() + RETRY_DELAY);
    }
}
