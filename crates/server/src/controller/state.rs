//! The controller's state: the gate, the store and the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_engine::{Engine, LaunchLimits, SpreadAccess, WakeCallback};
use tollgate_gate::{WorkerId, WorkerIncarnation};
use tollgate_host::StateFileError;
use tollgate_model::{AttemptReport, ForeignLoad, Instant, Span};
use tollgate_service::{AdmissionRules, Core, EngineAction, UnfinishedCounts};
use tollgate_store::{JobProgram, RestoreProgress, Store, StoreError, TaskNumbers};
use tollgate_workers::{MonotonicClock, WorkerPool, WorkerPoolConfig, WorkerSnapshot};

use super::class_changes::ClassChangeCounts;
use super::clock::{ControllerClock, HostClock};
use super::eviction_counts::EvictionCounts;
use super::response::JobWaiter;
use super::samples::SampleSchedule;
use super::storage_quota::StorageQuota;
use crate::events::{EventLog, EventSubject};
use crate::failpoint::{self, FaultInjector, ServiceFailpoint};
use crate::kept_outputs::KeptOutputs;
use crate::os_users::{self, RunAsResolver};

/// Wait before a failed action is tried again.
const RETRY_DELAY: Span = Span::from_secs(1);

/// The controller, which owns the gate, the store and the engine.
pub struct Controller<E> {
    pub(super) core: Core,
    pub(super) store: Store,
    pub(super) workers: WorkerPool<E>,
    /// The outputs that are kept of tasks on other hosts; None if none are.
    pub(super) kept_outputs: Option<KeptOutputs>,
    /// Name of this host.
    pub(super) host: String,
    pub(super) clock: ControllerClock,
    /// Requests that wait for a job to finish or for its admission decision.
    pub(super) waiters: BTreeMap<u64, Vec<JobWaiter>>,
    /// Reports of the engine that are not yet stored.
    pub(super) reports: Vec<AttemptReport>,
    /// Minimum time between two changes, of which the second one is reports that nothing waits for.
    pub(super) report_delay: Span,
    /// Time of the latest change.
    pub(super) changed_at: Option<Instant>,
    /// Latest time to store them, if they can wait for other changes.
    pub(super) report_deadline: Option<Instant>,
    /// Attempts with stored ends, which the engine may forget.
    pub(super) unacknowledged: Vec<tollgate_model::AttemptId>,
    /// Latest time to acknowledge them to the engine.
    pub(super) ack_deadline: Option<Instant>,
    /// The programs of arrays.
    pub(super) programs: BTreeMap<u64, JobProgram>,
    /// The numbers of the tasks of arrays.
    pub(super) task_numbers: BTreeMap<u64, TaskNumbers>,
    /// Reports of attempts that cannot run as their user, and end without the engine.
    pub(super) failed_launches: Vec<AttemptReport>,
    pub(super) run_as: RunAsResolver,
    /// Whether the nodes of this host are offered.
    pub(super) offers_local_nodes: bool,
    /// Maximum numbers of unfinished jobs and tasks of one user.
    pub(super) max_unfinished: UnfinishedCounts,
    /// Each user's stored bytes of unfinished jobs, with their maximum.
    pub(super) stored: StorageQuota,
    /// The limits of a task, unless its job sets others.
    pub(super) task_limits: LaunchLimits,
    /// Actions that the engine has not yet carried out.
    pub(super) pending_actions: Vec<EngineAction>,
    pub(super) samples: SampleSchedule,
    /// When to retry a failed action.
    pub(super) retry_at: Option<Instant>,
    /// Until when an unreachable engine is left alone.
    pub(super) engine_backoff_until: Option<Instant>,
    /// The disk is full: no new jobs are accepted until there is space for the reserve again.
    pub(super) disk_full: bool,
    pub(super) faults: FaultInjector,
    pub(super) log: EventLog,
    /// The workers as the log last described them.
    pub(super) described: BTreeMap<WorkerId, WorkerSnapshot>,
    /// Events of workers and nodes that are not published yet.
    pub(super) host_events: Vec<EventSubject>,
    /// The workers with their nodes as the log of events last described them.
    pub(super) described_nodes: BTreeMap<WorkerId, DescribedHost>,
    /// The number of times the engine could not carry out a command.
    pub(super) engine_failures: u64,
    pub(super) class_changes: ClassChangeCounts,
    pub(super) evictions: EvictionCounts,
}

/// A host as the log of events last described it.
pub(super) type DescribedHost = (WorkerIncarnation, Option<ForeignLoad>);

impl<E: Engine> Controller<E> {
    /// Creates a controller that continues from the state of the store. Its clock is never before the last
    /// instant in the store, whatever `clock` shows.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        store: Store,
        engine: E,
        rules: &AdmissionRules,
        clock: HostClock,
    ) -> Result<Self, StoreError> {
        Self::restored(store, engine, rules, clock, drop)
    }

    /// Creates a controller as [`Controller::new`] does. `progress` receives how many steps are restored.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn restored(
        mut store: Store,
        engine: E,
        rules: &AdmissionRules,
        clock: HostClock,
        progress: impl FnMut(RestoreProgress),
    ) -> Result<Self, StoreError> {
        let core = store.recover_with_progress(rules, progress)?;
        let clock = ControllerClock::after(core.now(), clock);
        let log = EventLog::after_batch(store.batch());
        let stored = store.stored_bytes()?;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        Ok(Self {
            core,
            store,
            workers: WorkerPool::new(engine, host.clone()),
            kept_outputs: None,
            host,
            clock,
            waiters: BTreeMap::new(),
            reports: Vec::new(),
            report_delay: Span::ZERO,
            changed_at: None,
            report_deadline: None,
            unacknowledged: Vec::new(),
            ack_deadline: None,
            programs: BTreeMap::new(),
            task_numbers: BTreeMap::new(),
            failed_launches: Vec::new(),
            run_as: Box::new(|user| Some(os_users::own_user(user))),
            offers_local_nodes: true,
            max_unfinished: UnfinishedCounts {
                jobs: u64::MAX,
                tasks: u64::MAX,
            },
            stored: StorageQuota::new(stored),
            task_limits: LaunchLimits::default(),
            pending_actions: Vec::new(),
            samples: SampleSchedule::default(),
            retry_at: None,
            engine_backoff_until: None,
            disk_full: false,
            faults: failpoint::from_environment(),
            log,
            described: BTreeMap::new(),
            host_events: Vec::new(),
            described_nodes: BTreeMap::new(),
            engine_failures: 0,
            class_changes: ClassChangeCounts::default(),
            evictions: EvictionCounts::default(),
        })
    }

    /// Runs jobs as the users that `set_run_as` returns. Without this call, only jobs of the service's
    /// own user run.
    pub fn set_run_as(&mut self, run_as: RunAsResolver) {
        self.run_as = run_as;
    }

    /// Offers no node of this host: jobs run on workers alone.
    pub fn offer_no_local_nodes(&mut self) {
        self.offers_local_nodes = false;
    }

    /// Measures how much load that is not of jobs slows hosts. Looks once in each interval, which is
    /// positive. Without this call none counts as slowed.
    pub fn measure_load(&mut self, interval: Duration) {
        self.workers.measure_load(interval);
    }

    /// Limits each user's numbers of unfinished jobs and tasks. Without this call there is no limit.
    pub fn limit_unfinished(&mut self, max: UnfinishedCounts) {
        self.max_unfinished = max;
    }

    /// Limits each user's stored bytes of unfinished jobs: commands, environments and scripts.
    /// Without this call there is no limit.
    pub fn limit_stored_bytes(&mut self, most: u64) {
        self.stored.set_max(most);
    }

    /// Limits the texts that each user keeps of jobs that are over: environments, scripts and long commands.
    /// Without this call there is no limit.
    ///
    /// # Errors
    /// If those above the limit cannot be dropped.
    pub fn limit_kept_bytes(&mut self, most: u64) -> Result<(), StoreError> {
        self.store.limit_kept(most)
    }

    /// Sets the limits of a task, unless its job sets others. Without this call there is no limit.
    pub fn limit_tasks(&mut self, limits: LaunchLimits) {
        self.task_limits = limits;
    }

    /// Lets reports that nothing waits for wait until something else is stored, or until this time has passed since the
    /// latest change. Without this call they are stored at once.
    pub fn delay_reports(&mut self, most: Span) {
        self.report_delay = most;
    }

    /// Accepts workers from now on. Without this call, only this host runs jobs. `ticks` measures
    /// how long workers are away. Must be called before [`Controller::reconcile`].
    ///
    /// # Errors
    /// If the registry of workers cannot be read.
    pub fn accept_workers(
        &mut self,
        house: WorkerPoolConfig,
        ticks: MonotonicClock,
    ) -> Result<(), StateFileError> {
        self.workers.accept_workers(house, ticks)
    }

    /// Lets the attempts on this host reach the other hosts of theirs. Without this call they cannot.
    pub fn set_spread_access(&mut self, access: SpreadAccess) {
        self.workers.set_spread_access(access);
    }

    /// Calls `injector` at each failpoint of a tick from now on.
    pub fn inject_faults(&mut self, injector: FaultInjector) {
        self.faults = injector;
    }

    /// Returns the log of the events of jobs from now on.
    pub fn log(&self) -> EventLog {
        self.log.clone()
    }

    /// Returns the state for queries.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Returns the current instant, which is never before the last handled one. All spans that the controller
    /// waits count from it.
    pub fn now(&mut self) -> Instant {
        self.clock.now()
    }

    /// Returns the latest time of the next turn if no request comes.
    pub fn next_wake(&self) -> Option<Instant> {
        let own = self.retry_at.into_iter().chain(self.ack_deadline);
        let own = own.chain(self.samples.next());
        let own = own.chain(self.report_deadline);
        self.core.next_wake().into_iter().chain(own).min()
    }

    /// Returns the time until the next action on workers.
    pub fn max_idle(&mut self) -> Option<Duration> {
        self.workers.max_idle()
    }

    pub(super) fn on_report(&mut self, wake: WakeCallback) {
        self.workers.on_report(wake);
    }

    pub(super) fn failpoint(&mut self, moment: ServiceFailpoint) {
        // Nothing is written at these failpoints, so an injected disk error has no effect.
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
