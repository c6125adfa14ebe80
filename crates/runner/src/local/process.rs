//! The runner of a directory, as seen by the process that starts it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tollgate_engine::EngineError;

use crate::settings::RunnerConfig;
use crate::state_dir;

/// A handle to the runner of a directory, which starts a runner if none is running.
pub(crate) struct RunnerProcess {
    state_dir: PathBuf,
    /// The program and arguments that start the runner; the directory is appended as the last
    /// argument.
    command: Vec<OsString>,
    /// The runner process, if it was started here. It is reaped when it has ended.
    started: Option<Child>,
}

/// How many runners in a row may be killed before one of them accepts a connection.
const MOST_KILLED: u32 = 5;

impl RunnerProcess {
    pub(crate) const fn new(folder: PathBuf, words: Vec<OsString>) -> Self {
        Self {
            state_dir: folder,
            command: words,
            started: None,
        }
    }

    /// Connects to the runner, and starts one with these settings if none is running.
    pub(crate) fn connect(
        &mut self,
        settings: &RunnerConfig,
        timeout: Duration,
    ) -> Result<UnixStream, EngineError> {
        let deadline = Instant::now() + timeout;
        if let Some(stream) = connect_socket(&self.state_dir) {
            return Ok(stream);
        }
        self.reap();
        let mut killed = 0;
        loop {
            killed += u32::from(self.start(settings)?);
            if killed > MOST_KILLED {
                return Err(self.exit_error("was killed"));
            }
            if let Some(stream) = connect_socket(&self.state_dir) {
                return Ok(stream);
            }
            if Instant::now() >= deadline {
                let reason = format!("no runner answers in {}", self.state_dir.display());
                return Err(EngineError::Unreachable { reason });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Reaps a runner that has ended.
    fn reap(&mut self) {
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
        if self.started.as_mut().is_some_and(ended) {
            self.started = None;
        }
    }

    /// Starts a runner unless the last one that was started here is still running. Returns whether a signal has
    /// ended that one.
    ///
    /// # Errors
    /// If the runner cannot be started, or ended at once because it cannot work here. A runner that
    /// ended because another runner holds the directory is not an error: the other runner answers
    /// soon, or ends.
    fn start(&mut self, settings: &RunnerConfig) -> Result<bool, EngineError> {
        let was_killed = match self.started.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => return Ok(false),
            Some(Ok(Some(status))) if status.code().is_some_and(|code| code != 0) => {
                self.started = None;
                return Err(self.exit_error("exited"));
            }
            Some(Ok(Some(status))) => status.code().is_none(),
            Some(Err(_)) | None => false,
        };
        settings.write(&self.state_dir)?;
        let failed = |path: PathBuf, step| move |source| EngineError::Setup { path, step, source };
        let log_path = self.state_dir.join("log");
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(state_dir::FILE_MODE)
            .open(&log_path)
            .and_then(|log| {
                state_dir::set_mode(&log_path, state_dir::FILE_MODE)?;
                Ok(log)
            });
        let log = log.map_err(failed(log_path, "opening it"))?;
        let mut words = self.command.iter();
        let program = words.next().cloned().unwrap_or_default();
        let mut command = Command::new(&program);
        command.args(words).arg(&self.state_dir);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // The runner outlives the caller, whose working directory may be removed.
        let child = command.current_dir("/").spawn();
        self.started = Some(child.map_err(failed(program.into(), "starting it as the runner"))?);
        Ok(was_killed)
    }

    /// Returns the error of a runner that has ended in this way: the last line of its log.
    fn exit_error(&self, end: &str) -> EngineError {
        let path = self.state_dir.join("log");
        let log = std::fs::read(&path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last_line = log.lines().next_back().unwrap_or("it says nothing");
        EngineError::Unreachable {
            reason: format!("the runner {end} at once: {last_line} ({})", path.display()),
        }
    }
}

/// Connects to the runner in `folder`. None if no runner accepts.
fn connect_socket(folder: &Path) -> Option<UnixStream> {
    let folder = File::open(folder).ok()?;
    UnixStream::connect(state_dir::proc_fd_path(&folder)).ok()
}
