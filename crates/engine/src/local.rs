//! This machine as an engine: the service's end of the runner's socket.

mod connection;

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::log::LogSettings;
use crate::memory::check_shares;
use crate::runner::folder;
use crate::runner::settings::Settings;
use crate::wire::{Answer, Ask};
use crate::{
    AttemptKey, BootTime, Capacity, Engine, EngineError, KillReason, Launch, Report, Running, Wake,
};
use connection::Connection;

/// How a [`LocalEngine`] is opened.
#[derive(Clone, Debug)]
pub struct LocalSettings {
    /// The runner's folder; made if it is not there, with its parent folder there. Nobody else may enter it.
    pub folder: PathBuf,
    /// The program and arguments that start a runner; the folder is added as the last one.
    pub runner: Vec<OsString>,
    /// Nodes to offer: so many of the cores that this process may run on. All of them if not said.
    pub nodes: Option<u32>,
    /// Attempts that run at once, on each node; others that are handed in wait in the runner.
    pub slots_per_node: u32,
    /// Whether launches may name other users, which needs root.
    pub other_users: bool,
    /// From asking a task to end until it is made to.
    pub grace: Duration,
    /// How long a task may take from being begun until its program runs. A folder on a server that
    /// does not answer can hold it up for ever.
    pub setup: Duration,
    /// How long a runner stays that nobody is connected to and that runs nothing.
    pub idle: Duration,
    /// Whether what runs is under a lease, and how long the first one is, from the start of a runner
    /// in a new folder: once the lease has ended, what runs is ended with [`KillReason::Evicted`]. It is
    /// renewed by [`Engine::renew_lease`] alone. Without a lease what runs goes on for ever.
    pub lease: Option<Duration>,
    /// Whether control groups are used where they can be. Without them less is enforced.
    pub control_groups: bool,
    /// How a runner that is started writes its log, the file `log` in its folder.
    pub log: LogSettings,
    /// How long an answer is waited for, and a new runner.
    pub patience: Duration,
}

impl LocalSettings {
    /// All cores with 8 slots each, own tasks only, 5 s of grace; `runner` starts a runner.
    pub fn new(
        folder: impl AsRef<Path>,
        runner: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            folder: folder.as_ref().to_owned(),
            runner: runner.into_iter().map(Into::into).collect(),
            nodes: None,
            slots_per_node: 8,
            other_users: false,
            grace: Duration::from_secs(5),
            setup: Duration::from_secs(30),
            idle: Duration::from_secs(10),
            lease: None,
            control_groups: true,
            log: LogSettings::default(),
            patience: Duration::from_secs(30),
        }
    }

    fn for_runner(&self) -> Settings {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Settings {
            nodes: self.nodes,
            slots_per_node: self.slots_per_node,
            other_users: self.other_users,
            grace_ms: millis(self.grace),
            setup_ms: millis(self.setup),
            idle_ms: millis(self.idle),
            lease_ms: self.lease.map(millis),
            control_groups: self.control_groups,
            log: self.log,
        }
    }
}

/// Tasks as processes of this machine. They are started and watched by a runner: a process of
/// its own, which is started when it is needed, found again when the caller is restarted, and
/// replaced when it has ended.
///
/// After a runner was replaced, what was not acknowledged is reported again.
pub struct LocalEngine {
    settings: LocalSettings,
    connection: Option<Connection>,
    capacity: Capacity,
    mailbox: Arc<Mailbox>,
    /// The runner, if this engine started it: it is waited for when it has ended.
    started: Option<Child>,
    calls: u64,
}

/// What has arrived from the runner, and whom to wake.
#[derive(Default)]
struct Mailbox {
    reports: Mutex<VecDeque<Report>>,
    arrived: std::sync::Condvar,
    wake: Mutex<Option<Wake>>,
}

impl LocalEngine {
    /// Connects to the runner of the folder, and starts one if there is none.
    ///
    /// # Errors
    /// [`EngineError::Setup`] if the folder is not one for us alone or no runner can be started,
    /// [`EngineError::OtherVersion`] if a runner of another release is still busy there, or those of
    /// any call.
    pub fn open(settings: LocalSettings) -> Result<Self, EngineError> {
        let path = settings.folder.clone();
        folder::make_private(&path).map_err(|source| EngineError::Setup {
            path,
            step: "making it",
            source,
        })?;
        let mut engine = Self {
            settings,
            connection: None,
            capacity: NOTHING,
            mailbox: Arc::default(),
            started: None,
            calls: 0,
        };
        engine.connect()?;
        Ok(engine)
    }

    /// The process of the runner that was last connected to; none if that has gone.
    pub fn runner_pid(&self) -> Option<u32> {
        let open = self
            .connection
            .as_ref()
            .filter(|connection| connection.is_open());
        open.map(Connection::runner)
    }

    /// Connects anew, to a new runner if need be, and learns what it offers.
    fn connect(&mut self) -> Result<(), EngineError> {
        self.connection = None;
        // What the last runner said and nobody took yet is said again by the next.
        self.mailbox.lock().clear();
        let deadline = Instant::now() + self.settings.patience;
        let mut connection = Connection::open(&self.settings.folder, &self.mailbox)?;
        if connection.is_none() {
            self.reap_runner();
        }
        while connection.is_none() && Instant::now() < deadline {
            self.start_runner()?;
            connection = Connection::open(&self.settings.folder, &self.mailbox)?;
            if connection.is_none() {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.connection = Some(connection.ok_or_else(|| EngineError::Unreachable {
            reason: format!("no runner answers in {}", self.settings.folder.display()),
        })?);
        if let Answer::Capacity(capacity) = self.ask_once(Ask::Capacity)? {
            self.capacity = capacity;
        }
        Ok(())
    }

    /// Takes a runner that has ended off the process table.
    fn reap_runner(&mut self) {
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
        if self.started.as_mut().is_some_and(ended) {
            self.started = None;
        }
    }

    /// Starts a runner unless the last one that was started still is there.
    ///
    /// # Errors
    /// If it cannot be started, or has ended at once because it cannot work here. One that found
    /// the folder taken is no failure: whoever has it answers soon, or ends.
    fn start_runner(&mut self) -> Result<(), EngineError> {
        match self.started.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => return Ok(()),
            Some(Ok(Some(status))) if status.code().is_some_and(|code| code != 0) => {
                self.started = None;
                return Err(self.runner_failed());
            }
            Some(Ok(Some(_)) | Err(_)) | None => {}
        }
        self.settings.for_runner().write(&self.settings.folder)?;
        let failed = |path: PathBuf, step| move |source| EngineError::Setup { path, step, source };
        let log_path = self.settings.folder.join("log");
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(folder::FILE_MODE)
            .open(&log_path)
            .and_then(|log| {
                folder::close_to_others(&log_path, folder::FILE_MODE)?;
                Ok(log)
            });
        let log = log.map_err(failed(log_path, "opening it"))?;
        let mut words = self.settings.runner.iter();
        let program = words.next().cloned().unwrap_or_default();
        let mut command = Command::new(&program);
        command.args(words).arg(&self.settings.folder);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // It outlives the caller, whose folder may be removed.
        let child = command.current_dir("/").spawn();
        self.started = Some(child.map_err(failed(program.into(), "starting it as the runner"))?);
        Ok(())
    }

    /// Why the runner has ended, in its own words: the last line of its messages.
    fn runner_failed(&self) -> EngineError {
        let path = self.settings.folder.join("log");
        let log = std::fs::read(&path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let said = log.lines().next_back().unwrap_or("it says nothing");
        EngineError::Unreachable {
            reason: format!("the runner exited at once: {said} ({})", path.display()),
        }
    }

    /// Asks the runner; if it has gone, asks the next one, once.
    fn ask(&mut self, ask: impl Fn() -> Ask) -> Result<Answer, EngineError> {
        if self.connection.as_ref().is_some_and(Connection::is_open) {
            match self.ask_once(ask()) {
                Err(EngineError::Unreachable { .. }) => {}
                result => return result,
            }
        }
        self.connect()?;
        self.ask_once(ask())
    }

    fn ask_once(&mut self, ask: Ask) -> Result<Answer, EngineError> {
        self.calls += 1;
        let connection = self.connection.as_mut().ok_or_else(not_connected)?;
        let answer = connection.ask(self.calls, ask, self.settings.patience);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    fn check(&self, launch: &Launch) -> Result<(), EngineError> {
        launch.check(self.capacity.nodes)?;
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

/// Launches as they are sent: of those with the same script the first brings its text.
fn with_texts_once(launches: &[Launch]) -> Vec<Launch> {
    let mut sent = BTreeSet::new();
    let mut once = |launch: &Launch| {
        let script = launch.script.as_ref();
        match script.is_none_or(|script| sent.insert(script.sha256().to_owned())) {
            true => launch.clone(),
            false => launch.without_text(),
        }
    };
    launches.iter().map(&mut once).collect()
}

fn not_connected() -> EngineError {
    EngineError::Unreachable {
        reason: "the runner has gone".to_owned(),
    }
}

/// Before a runner has said what it has.
const NOTHING: Capacity = Capacity {
    nodes: 0,
    memory_per_node: 0,
    shares: crate::capacity::Shares::Unenforced,
    pinning: crate::capacity::Pinning::Unenforced,
    memory: crate::capacity::MemoryLimit::Unenforced,
    processes: crate::capacity::ProcessLimit::Unenforced,
    tree: crate::capacity::Tree::Subreaper,
    other_users: false,
};

impl Engine for LocalEngine {
    fn capacity(&mut self) -> Result<Capacity, EngineError> {
        if !self.connection.as_ref().is_some_and(Connection::is_open) {
            self.connect()?;
        }
        Ok(self.capacity.clone())
    }

    fn start(&mut self, launches: &[Launch]) -> Result<(), EngineError> {
        for launch in launches {
            self.check(launch)?;
        }
        let launches = with_texts_once(launches);
        self.ask(|| Ask::Start(launches.clone()))?.done()
    }

    fn set_shares(&mut self, shares: &[(AttemptKey, f64)]) -> Result<(), EngineError> {
        check_shares(shares)?;
        self.ask(|| Ask::SetShares(shares.to_vec()))?.done()
    }

    fn kill(&mut self, attempts: &[AttemptKey], why: KillReason) -> Result<(), EngineError> {
        self.ask(|| Ask::Kill(attempts.to_vec(), why))?.done()
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<Report>, EngineError> {
        let arrived = self.mailbox.take(Duration::ZERO);
        if !arrived.is_empty() {
            return Ok(arrived);
        }
        if !self.connection.as_ref().is_some_and(Connection::is_open) {
            self.connect()?;
        }
        Ok(self.mailbox.take(timeout))
    }

    fn acknowledge(&mut self, attempts: &[AttemptKey]) -> Result<(), EngineError> {
        self.ask(|| Ask::Acknowledge(attempts.to_vec()))?.done()
    }

    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError> {
        if self.settings.lease.is_none() {
            return Ok(());
        }
        self.ask(|| Ask::RenewLease(until.as_micros()))?.done()
    }

    fn running(&mut self) -> Result<Vec<Running>, EngineError> {
        match self.ask(|| Ask::Running)? {
            Answer::Running(running) => Ok(running),
            Answer::Done | Answer::Capacity(_) | Answer::Full(_) => Ok(Vec::new()),
        }
    }

    fn on_report(&mut self, wake: Wake) {
        *self
            .mailbox
            .wake
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }
}

impl Mailbox {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something arrived, or nothing will any more.
    fn ring(&self) {
        self.arrived.notify_all();
        let wake = self
            .wake
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(wake) = wake {
            wake();
        }
    }

    /// Everything that has arrived; waits at most so long for the first of it, or until there
    /// is nobody any more who could send something.
    fn take(&self, timeout: Duration) -> Vec<Report> {
        let mut reports = self.lock();
        if reports.is_empty() && !timeout.is_zero() {
            let waited = self.arrived.wait_timeout(reports, timeout);
            reports = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        reports.drain(..).collect()
    }
}
