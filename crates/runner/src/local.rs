//! The engine for this machine: the service's end of the runner's socket.

mod connection;
mod mailbox;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use connection::RunnerConnection;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;
use tollgate_engine::capacity::{
    CpuPinning, MemoryEnforcement, ProcessEnforcement, ShareEnforcement, TreeTracking,
};
use tollgate_engine::launch::check_shares;
use tollgate_engine::{
    AttemptPart, BootTime, Engine, EngineCapacity, EngineError, HostLoad, LaunchSpec, OutputAnswer,
    OutputRead, RunningAttempt, SuspendedAttempt, WakeCallback,
};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, KillReason, LaunchFailure,
    WarningSignal,
};

use self::mailbox::ReportMailbox;
use crate::clock;
use crate::log::LogSettings;
use crate::protocol::{RunnerRequestKind, RunnerResponse};
use crate::settings::RunnerConfig;
use crate::starter::StarterLink;
use crate::state_dir;

pub(crate) use connection::read_guard;
pub(crate) use process::RunnerProcess;

/// The settings of a [`LocalEngine`].
#[derive(Clone, Debug)]
pub struct LocalEngineConfig {
    /// The runner's directory; created if it is missing, provided that its parent exists. No other
    /// user may enter it.
    pub state_dir: PathBuf,
    /// The program and arguments that start a runner; the directory is appended as the last
    /// argument.
    pub runner: Vec<OsString>,
    /// Number of nodes to offer, out of the cores that this process may run on. None for all cores.
    pub nodes: Option<u32>,
    /// Maximum memory to offer on all nodes together, in bytes. None for all that this process may use.
    pub memory: Option<u64>,
    /// Devices to offer, by name, with their number.
    pub devices: BTreeMap<String, u8>,
    /// Maximum number of attempts that run at once on each node; further attempts wait in the
    /// runner.
    pub slots_per_node: u32,
    /// Whether launches may name other users, which needs root.
    pub other_users: bool,
    /// The time from asking a task to end until it is killed.
    pub grace: Duration,
    /// The time from asking a task to end that gives way to a user until it is killed, within the lease; None for
    /// `grace`.
    pub evict_grace: Option<Duration>,
    /// The maximum time from the start of a task's setup until its program runs. A directory on a
    /// server that does not answer can block the setup for ever.
    pub setup_timeout: Duration,
    /// The time after which a runner without a connection and without running tasks ends.
    pub idle_timeout: Duration,
    /// The length of the first lease, from the start of a runner in a new directory. Once the lease
    /// has ended, running tasks are ended with [`KillReason::Evicted`]. Only
    /// [`Engine::renew_lease`] renews it. None for no lease: tasks then run without a time limit.
    pub lease: Option<Duration>,
    /// Whether control groups are used where possible. Without them fewer limits are enforced.
    pub control_groups: bool,
    /// Whether tasks give way to all other processes of the host, as on a computer that people use. They then have the
    /// lowest weight and priority for processors and disks, and are killed first when memory is short. Each task
    /// also gets a freezer if control groups are used, so that [`Engine::suspend`] takes milliseconds.
    pub low_priority: bool,
    /// Whether the caller stores each attempt durably before it starts it, and after a reboot takes all of
    /// them for lost. Then a start does not wait for the disk of the runner.
    pub caller_records: bool,
    /// The log settings of a new runner, which logs to the file `log` in its directory.
    pub log: LogSettings,
    /// The starter that provides a connection to a runner. None if this process starts a runner and
    /// connects to it itself.
    pub starter: Option<StarterLink>,
    /// The maximum time to wait for an answer, or for a new runner.
    pub call_timeout: Duration,
}

impl LocalEngineConfig {
    /// Creates settings with all cores, 8 slots per node, own tasks only and 5 s of grace; `runner`
    /// starts a runner.
    pub fn new(
        folder: impl AsRef<Path>,
        runner: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            state_dir: folder.as_ref().to_owned(),
            runner: runner.into_iter().map(Into::into).collect(),
            nodes: None,
            memory: None,
            devices: BTreeMap::new(),
            slots_per_node: 8,
            other_users: false,
            grace: Duration::from_secs(5),
            evict_grace: None,
            setup_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(10),
            lease: None,
            control_groups: true,
            low_priority: false,
            caller_records: false,
            log: LogSettings::default(),
            starter: None,
            call_timeout: Duration::from_secs(30),
        }
    }

    fn runner_config(&self) -> RunnerConfig {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        RunnerConfig {
            nodes: self.nodes,
            memory: self.memory,
            slots_per_node: self.slots_per_node,
            other_users: self.other_users,
            grace_ms: millis(self.grace),
            evict_grace_ms: self.evict_grace.map(millis),
            setup_ms: millis(self.setup_timeout),
            idle_ms: millis(self.idle_timeout),
            lease_ms: self.lease.map(millis),
            control_groups: self.control_groups,
            low_priority: self.low_priority,
            log: self.log,
            guard: None,
        }
    }
}

/// The pauses between runners that end before their hello: each is twice the last one, about a second in all.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(512);

/// An engine that runs tasks as processes of this machine. A runner starts and watches them: a
/// separate process, which is started on demand, found again after a restart of the caller, and
/// replaced when it has ended.
///
/// After a runner is replaced, all unacknowledged reports are delivered again.
pub struct LocalEngine {
    settings: LocalEngineConfig,
    connection: Option<RunnerConnection>,
    capacity: EngineCapacity,
    mailbox: Arc<ReportMailbox>,
    runner: RunnerProcess,
    last_request_id: u64,
}

impl LocalEngine {
    /// Connects to the runner of the directory, and starts a runner if none is running.
    ///
    /// # Errors
    /// [`EngineError::Setup`] if the directory is not private to this user or no runner can be started,
    /// [`EngineError::OtherVersion`] if a runner of another release is still busy there. Otherwise the errors
    /// of any call.
    pub fn open(settings: LocalEngineConfig) -> Result<Self, EngineError> {
        let path = settings.state_dir.clone();
        // The starter owns the directory, if there is a starter.
        if settings.starter.is_none() {
            state_dir::make_private(&path).map_err(|source| EngineError::Setup {
                path,
                step: "making it",
                source,
            })?;
        }
        let runner = RunnerProcess::new(settings.state_dir.clone(), settings.runner.clone());
        let mut engine = Self {
            settings,
            connection: None,
            capacity: NO_CAPACITY,
            mailbox: Arc::default(),
            runner,
            last_request_id: 0,
        };
        engine.connect()?;
        Ok(engine)
    }

    /// Returns the process id of the last connected runner. None if that runner has ended.
    pub fn runner_pid(&self) -> Option<u32> {
        let open = self
            .connection
            .as_ref()
            .filter(|connection| connection.is_open());
        open.map(RunnerConnection::runner_pid)
    }

    /// Asks the runner to end its tasks and itself, and waits until it has ended; false if it has not
    /// within `stop_timeout`. A runner of another user ends by itself soon after the last task.
    pub fn stop_runner(&mut self, stop_timeout: Duration) -> bool {
        let pid = self.runner_pid().and_then(|pid| i32::try_from(pid).ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            return true;
        };
        // The open connection proves that the process id is still that of the runner.
        let Ok(runner) = pidfd_open(pid, PidfdFlags::empty()) else {
            return true;
        };
        let _ = pidfd_send_signal(&runner, Signal::TERM);
        self.connection = None;
        let mut end = [PollFd::new(&runner, PollFlags::IN)];
        let timeout = Timespec::try_from(stop_timeout).ok();
        poll(&mut end, timeout.as_ref()).is_ok_and(|ended| ended > 0)
    }

    /// Reconnects, if necessary to a new runner, and reads its capacity.
    fn connect(&mut self) -> Result<(), EngineError> {
        self.connection = None;
        // The next runner repeats the reports of the last one that were not polled yet.
        self.mailbox.lock().clear();
        let deadline = Instant::now() + self.settings.call_timeout;
        let mut pause = FIRST_PAUSE;
        let connection = loop {
            if let Some(connection) =
                RunnerConnection::handshake(self.open_stream(deadline)?, &self.mailbox)?
            {
                break connection;
            }
            // The runner ended before its hello: it was idle for long, or ends each time. The caller waits
            // meanwhile, and so may its users.
            if pause > LAST_PAUSE || Instant::now() >= deadline {
                let folder = self.settings.state_dir.display();
                let reason = format!("no runner answers in {folder}");
                return Err(EngineError::Unreachable { reason });
            }
            std::thread::sleep(pause);
            pause *= 2;
        };
        self.connection = Some(connection);
        if let RunnerResponse::Capacity(capacity) = self.call_once(RunnerRequestKind::Capacity)? {
            self.capacity = capacity;
        }
        Ok(())
    }

    /// Connects to a runner, which may be about to end.
    fn open_stream(&mut self, deadline: Instant) -> Result<UnixStream, EngineError> {
        let settings = self.settings.runner_config();
        match &self.settings.starter {
            Some(starter) => starter.connect(&settings),
            None => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.runner.connect(&settings, left)
            }
        }
    }

    /// Sends a request to the runner; if the runner has ended, sends it once to the next runner.
    fn call(
        &mut self,
        request: impl Fn() -> RunnerRequestKind,
    ) -> Result<RunnerResponse, EngineError> {
        if self
            .connection
            .as_ref()
            .is_some_and(RunnerConnection::is_open)
        {
            match self.call_once(request()) {
                Err(EngineError::Unreachable { .. }) => {}
                result => return result,
            }
        }
        self.connect()?;
        self.call_once(request())
    }

    fn call_once(&mut self, request: RunnerRequestKind) -> Result<RunnerResponse, EngineError> {
        self.last_request_id += 1;
        let connection = self.connection.as_mut().ok_or_else(not_connected)?;
        let is_recorded = self.settings.caller_records && !starts_part(&request);
        let timeout = self.settings.call_timeout;
        let answer = connection.call(self.last_request_id, request, is_recorded, timeout);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    /// Connects to a runner, if there is none, and checks that it suspends attempts.
    fn check_suspends(&mut self) -> Result<(), EngineError> {
        self.capacity()?;
        let connection = self.connection.as_ref();
        match connection.is_some_and(RunnerConnection::suspends) {
            true => Ok(()),
            false => {
                let what = "suspension: its runner is of an earlier release";
                Err(EngineError::Unsupported { what })
            }
        }
    }

    fn validate(&self, launch: &LaunchSpec) -> Result<(), EngineError> {
        launch.validate(self.capacity.nodes)?;
        match &launch.user {
            Some(_) if !self.capacity.other_users => Err(EngineError::Invalid {
                attempt: launch.attempt,
                field: "user",
                expected: "no user: only the engine's own user's tasks are run here",
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the launches in the form in which they are sent: of launches with the same script, only
/// the first contains the text.
fn without_repeated_texts(launches: &[LaunchSpec]) -> Vec<LaunchSpec> {
    let mut sent = BTreeSet::new();
    let mut once = |launch: &LaunchSpec| {
        let script = launch.script.as_ref();
        match script.is_none_or(|script| sent.insert(script.sha256().to_owned())) {
            true => launch.clone(),
            false => launch.without_text(),
        }
    };
    launches.iter().map(&mut once).collect()
}

/// Returns whether the request starts a part of an attempt, of which the caller has no record.
fn starts_part(request: &RunnerRequestKind) -> bool {
    match request {
        RunnerRequestKind::Start(launches) => {
            let mut attempts = launches.iter().map(|launch| launch.attempt);
            attempts.any(|attempt| AttemptPart::of(attempt).is_some())
        }
        RunnerRequestKind::Capacity
        | RunnerRequestKind::SetShares(_)
        | RunnerRequestKind::Kill(..)
        | RunnerRequestKind::Signal(..)
        | RunnerRequestKind::Suspend(_)
        | RunnerRequestKind::Resume(_)
        | RunnerRequestKind::Acknowledge(_)
        | RunnerRequestKind::RenewLease(_)
        | RunnerRequestKind::Running
        | RunnerRequestKind::Load
        | RunnerRequestKind::ReadOutputs(_) => false,
    }
}

/// Returns the end of a launch that the runner of an earlier release would start too early.
fn withdrawn(launch: &LaunchSpec) -> AttemptReport {
    let reason = "the runner of an earlier release keeps no order";
    let failure = LaunchFailure::of_host("start", reason);
    let mut ended = AttemptOutcome::not_started(failure, clock::now());
    ended.killed = Some(KillReason::Withdrawn);
    AttemptReport {
        attempt: launch.attempt,
        event: AttemptEvent::Ended(ended),
    }
}

/// Returns the end of a launch whose files the runner of an earlier release would not open.
fn without_streams(launch: &LaunchSpec) -> AttemptReport {
    let reason = "the runner of an earlier release opens no files for errors and input";
    let failure = LaunchFailure::of_host("start", reason);
    AttemptReport::not_started(launch.attempt, failure, clock::now())
}

fn not_connected() -> EngineError {
    EngineError::Unreachable {
        reason: "the runner has gone".to_owned(),
    }
}

/// The capacity before a runner has reported its own.
const NO_CAPACITY: EngineCapacity = EngineCapacity {
    nodes: 0,
    memory_per_node: 0,
    shares: ShareEnforcement::Unenforced,
    pinning: CpuPinning::Unenforced,
    memory: MemoryEnforcement::Unenforced,
    processes: ProcessEnforcement::Unenforced,
    tree: TreeTracking::Subreaper,
    other_users: false,
    devices: BTreeMap::new(),
};

impl Engine for LocalEngine {
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        if !self
            .connection
            .as_ref()
            .is_some_and(RunnerConnection::is_open)
        {
            self.connect()?;
        }
        Ok(EngineCapacity {
            devices: self.settings.devices.clone(),
            ..self.capacity.clone()
        })
    }

    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError> {
        for launch in launches {
            self.validate(launch)?;
        }
        // Connects to a runner, if there is none.
        self.capacity()?;
        let connection = self.connection.as_ref();
        let keeps_order = connection.is_some_and(RunnerConnection::keeps_order);
        let has_streams = connection.is_some_and(RunnerConnection::has_streams_and_signals);
        let (mut fit, mut unfit) = (Vec::new(), Vec::new());
        for launch in without_repeated_texts(launches) {
            let needs_streams = launch.error.is_some() || launch.input.is_some();
            if !keeps_order && launch.after.is_some() {
                unfit.push(withdrawn(&launch));
            } else if !has_streams && needs_streams {
                unfit.push(without_streams(&launch));
            } else {
                fit.push(launch);
            }
        }
        if !unfit.is_empty() {
            self.mailbox.lock().extend(unfit);
            self.mailbox.notify();
        }
        let launches = fit;
        if launches.is_empty() {
            return Ok(());
        }
        self.call(|| RunnerRequestKind::Start(launches.clone()))?
            .expect_done()
    }

    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
        check_shares(shares)?;
        self.call(|| RunnerRequestKind::SetShares(shares.to_vec()))?
            .expect_done()
    }

    fn kill(&mut self, attempts: &[AttemptId], why: KillReason) -> Result<(), EngineError> {
        self.call(|| RunnerRequestKind::Kill(attempts.to_vec(), why))?
            .expect_done()
    }

    /// Sends the request once: a runner that replaces another one runs no program yet that could lack the signal.
    fn signal(&mut self, attempts: &[AttemptId], signal: WarningSignal) -> Result<(), EngineError> {
        // Connects to a runner, if there is none.
        self.capacity()?;
        let connection = self.connection.as_ref();
        if !connection.is_some_and(RunnerConnection::has_streams_and_signals) {
            let what = "signals: its runner is of an earlier release";
            return Err(EngineError::Unsupported { what });
        }
        self.call_once(RunnerRequestKind::Signal(attempts.to_vec(), signal))?
            .expect_done()
    }

    fn suspend(&mut self, attempts: &[AttemptId]) -> Result<Vec<SuspendedAttempt>, EngineError> {
        self.check_suspends()?;
        match self.call(|| RunnerRequestKind::Suspend(attempts.to_vec()))? {
            RunnerResponse::Suspended(suspended) => Ok(suspended),
            RunnerResponse::Full(reason) => Err(EngineError::Full { reason }),
            RunnerResponse::Done
            | RunnerResponse::Capacity(_)
            | RunnerResponse::Running(_)
            | RunnerResponse::Load(_) => Ok(Vec::new()),
        }
    }

    fn resume(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.check_suspends()?;
        self.call(|| RunnerRequestKind::Resume(attempts.to_vec()))?
            .expect_done()
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError> {
        let arrived = self.mailbox.take(Duration::ZERO);
        if !arrived.is_empty() {
            return Ok(arrived);
        }
        if !self
            .connection
            .as_ref()
            .is_some_and(RunnerConnection::is_open)
        {
            self.connect()?;
        }
        Ok(self.mailbox.take(timeout))
    }

    fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.call(|| RunnerRequestKind::Acknowledge(attempts.to_vec()))?
            .expect_done()
    }

    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError> {
        if self.settings.lease.is_none() {
            return Ok(());
        }
        self.call(|| RunnerRequestKind::RenewLease(until.as_micros()))?
            .expect_done()
    }

    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError> {
        match self.call(|| RunnerRequestKind::Running)? {
            RunnerResponse::Running(running) => Ok(running),
            RunnerResponse::Done
            | RunnerResponse::Capacity(_)
            | RunnerResponse::Suspended(_)
            | RunnerResponse::Load(_)
            | RunnerResponse::Full(_) => Ok(Vec::new()),
        }
    }

    fn host_load(&mut self) -> Result<Option<HostLoad>, EngineError> {
        // Connects to a runner, if there is none.
        self.capacity()?;
        let connection = self.connection.as_ref();
        if !connection.is_some_and(RunnerConnection::measures_load) {
            return Ok(None);
        }
        match self.call_once(RunnerRequestKind::Load)? {
            RunnerResponse::Load(load) => Ok(load),
            RunnerResponse::Done
            | RunnerResponse::Capacity(_)
            | RunnerResponse::Running(_)
            | RunnerResponse::Suspended(_)
            | RunnerResponse::Full(_) => Ok(None),
        }
    }

    fn request_outputs(&mut self, reads: &[OutputRead]) -> Result<(), EngineError> {
        // Connects to a runner, if there is none.
        self.capacity()?;
        let connection = self.connection.as_ref();
        if !connection.is_some_and(RunnerConnection::reads_outputs) {
            let reason = "the runner of an earlier release reads no outputs".to_owned();
            let refused = reads.iter().map(|read| OutputAnswer {
                id: read.id,
                found: Err(reason.clone()),
            });
            self.mailbox.outputs().extend(refused);
            return Ok(());
        }
        self.call_once(RunnerRequestKind::ReadOutputs(reads.to_vec()))?
            .expect_done()
    }

    fn take_outputs(&mut self) -> Vec<OutputAnswer> {
        std::mem::take(&mut *self.mailbox.outputs())
    }

    fn on_report(&mut self, wake: WakeCallback) {
        *self
            .mailbox
            .wake
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }
}
