//! A command of this program in a session of its own, which outlives the terminal that it was started from.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, setsid};

use crate::guarded;

/// The hidden first argument of a program that is to run in a session of its own, as [`leave_session`] does.
pub const DETACHED_ARG: &str = "__detached";

/// The maximum time until a command is ready. Recovery of a large store takes long.
const MAX_STARTUP: Duration = Duration::from_secs(120);

/// The pause between two checks whether a command is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An error while a command is detached.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// The process ended before it was ready.
    #[error("{what} ended at once ({status}):\n{messages}")]
    Ended {
        /// The name of the command in messages.
        what: &'static str,
        /// Its exit status.
        status: ExitStatus,
        /// The text that it wrote to its log.
        messages: String,
    },
    /// The process runs but is not ready in time.
    #[error("process {pid} does not answer after {} s: see {}", MAX_STARTUP.as_secs(), log.display())]
    Silent {
        /// The process id.
        pid: u32,
        /// The file of its messages.
        log: PathBuf,
    },
    /// The log cannot be used, or the process cannot be started.
    #[error("{}: cannot be written: {error}", log.display())]
    Log {
        /// The file of its messages.
        log: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The system does not tell whether the process has ended.
    #[error("{what}: cannot be read: {error}")]
    Unobserved {
        /// The name of the command in messages.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// A command of this program that runs in a session of its own.
#[derive(Debug)]
pub struct DetachedCommand {
    /// Its name in messages.
    pub what: &'static str,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
    /// Variables that are set, or removed, besides those of this process.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The file to which its messages are appended.
    pub log: PathBuf,
}

/// A process that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedProcess {
    /// The process id.
    pub pid: u32,
    /// The text that it has written to its log.
    pub messages: String,
}

/// Leaves the session of the terminal, so that the end of the terminal does not end this process.
pub fn leave_session() {
    // The call fails only for a process that leads a group already, which has left its session.
    let _ = setsid();
}

impl DetachedCommand {
    /// Returns the command that this process runs, without `--detach`.
    pub fn again(what: &'static str, log: PathBuf) -> Self {
        let arguments = env::args_os().skip(1).filter(|word| word != "--detach");
        Self {
            what,
            arguments: [OsString::from(DETACHED_ARG)]
                .into_iter()
                .chain(arguments)
                .collect(),
            environment: Vec::new(),
            log,
        }
    }

    /// Starts the command, and returns its process once `is_ready` says so.
    ///
    /// # Errors
    /// An error if the process ends, or is not ready within two minutes.
    pub fn start(&self, is_ready: &dyn Fn(Pid) -> bool) -> Result<DetachedProcess, DetachError> {
        let failed = |error| DetachError::Log {
            log: self.log.clone(),
            error,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.log.parent().unwrap_or(Path::new(".")))
            .map_err(failed)?;
        // Another account may write to the directory of the log, so the file is opened once.
        let file = guarded::open_append(&self.log).map_err(|error| failed(error.into()))?;
        let log = LogFile::new(file).map_err(failed)?;
        let mut child = self.spawn(&log).map_err(failed)?;
        self.wait_until_ready(&mut child, &log, is_ready)?;
        Ok(DetachedProcess {
            pid: child.id(),
            messages: log.added().map_err(failed)?,
        })
    }

    fn spawn(&self, log: &LogFile) -> io::Result<Child> {
        let mut command = Command::new(env::current_exe()?);
        command.args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.file.try_clone()?)
            .spawn()
    }

    fn wait_until_ready(
        &self,
        child: &mut Child,
        log: &LogFile,
        is_ready: &dyn Fn(Pid) -> bool,
    ) -> Result<(), DetachError> {
        let what = self.what;
        let began = Instant::now();
        loop {
            let ended = child.try_wait();
            let ended = ended.map_err(|error| DetachError::Unobserved { what, error })?;
            if let Some(status) = ended {
                let messages = log.added().unwrap_or_default();
                return Err(DetachError::Ended {
                    what,
                    status,
                    messages,
                });
            }
            if is_ready(Pid::from_child(child)) {
                return Ok(());
            }
            if began.elapsed() > MAX_STARTUP {
                return Err(DetachError::Silent {
                    pid: child.id(),
                    log: self.log.clone(),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The log of a detached process.
struct LogFile {
    file: File,
    /// Its length before the start of the process.
    begin: u64,
}

impl LogFile {
    fn new(file: File) -> io::Result<Self> {
        let begin = file.metadata()?.len();
        Ok(Self { file, begin })
    }

    /// Returns the text that was added since the start.
    fn added(&self) -> io::Result<String> {
        let length = self.file.metadata()?.len().saturating_sub(self.begin);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, self.begin)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}
