//! `--detach`: a service, or another command, that outlives its terminal.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, setsid};
use tollgate_client::ApiClient;
use tollgate_client::types::ServiceStatus;
use tollgate_host::guarded;
use tollgate_store::data_dir;

use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::messages::Verbosity;

/// The hidden argument with which the program runs in a session of its own.
pub(crate) const DETACHED_ARG: &str = "__detached";

/// The log file of a detached service, in the data directory.
const LOG_FILE: &str = "service.log";

/// The maximum time until a service answers. Recovery of a large store takes long.
const MAX_STARTUP: Duration = Duration::from_secs(120);

/// The pause between two checks whether the service answers.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An error while a service is detached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DetachError {
    /// The process ended before it was ready.
    #[error("{what} ended at once ({status}):\n{messages}")]
    Ended {
        what: &'static str,
        status: ExitStatus,
        messages: String,
    },
    /// The process runs but is not ready in time.
    #[error("process {pid} does not answer after {} s: see {}", MAX_STARTUP.as_secs(), log.display())]
    Silent { pid: u32, log: PathBuf },
}

impl CliError for DetachError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// Leaves the session of the terminal, so that the end of the terminal does not end this process.
pub(crate) fn leave_session() {
    // The call fails only for a process that leads a group already, which has left its session.
    let _ = setsid();
}

/// Starts `tollgate serve` with the same arguments in a session of its own. Returns once the
/// service answers at the socket in `data`.
///
/// # Errors
/// An error if the service ends, as on a data directory in use, or does not answer within two
/// minutes.
pub(crate) fn detach(data: &Path) -> Result<(), CliFailure> {
    let log = data.join(LOG_FILE);
    let pid =
        DetachedCommand::again("the service", log.clone()).start(&|own| is_ready(data, own))?;
    Verbosity::Notes.note(format_args!(
        "process {pid}, log {}; `kill {pid}` stops it, its jobs go on, and the next `serve` finds them",
        log.display()
    ));
    Ok(())
}

/// A command of this program that runs in a session of its own.
pub(crate) struct DetachedCommand {
    /// Its name in messages.
    pub(crate) what: &'static str,
    /// The arguments of the program.
    pub(crate) arguments: Vec<OsString>,
    /// Variables that are set, or removed, besides those of this process.
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// The file to which its messages are appended.
    pub(crate) log: PathBuf,
}

impl DetachedCommand {
    /// Returns the command that this process runs, without `--detach`.
    pub(crate) fn again(what: &'static str, log: PathBuf) -> Self {
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

    /// Starts the command, and returns its process id once it is ready. Shows what it wrote so far.
    ///
    /// # Errors
    /// An error if the process ends, or is not ready within two minutes.
    pub(crate) fn start(&self, is_ready: &dyn Fn(Pid) -> bool) -> Result<u32, CliFailure> {
        let log = self.log.as_path();
        let failed = |error| CliFailure::write_failed(log.display().to_string(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(log.parent().unwrap_or(Path::new(".")))
            .map_err(failed)?;
        // Another account may write to the directory of the log, so the file is opened once.
        let file = guarded::open_append(log).map_err(|error| failed(error.into()))?;
        let file = LogFile::new(file, log.to_owned()).map_err(failed)?;
        let child = self.spawn(&file).map_err(failed)?;
        let pid = child.id();
        wait_until_ready(child, self.what, &file, is_ready)?;
        for line in file.added().map_err(failed)?.lines() {
            Verbosity::Notes.note(line);
        }
        Ok(pid)
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
}

/// The log of a detached process.
struct LogFile {
    file: File,
    path: PathBuf,
    /// Its length before the start of the process.
    begin: u64,
}

impl LogFile {
    fn new(file: File, path: PathBuf) -> io::Result<Self> {
        let begin = file.metadata()?.len();
        Ok(Self { file, path, begin })
    }

    /// Returns the text that was added since the start.
    fn added(&self) -> io::Result<String> {
        let length = self.file.metadata()?.len().saturating_sub(self.begin);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, self.begin)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}

fn wait_until_ready(
    mut child: Child,
    what: &'static str,
    log: &LogFile,
    is_ready: &dyn Fn(Pid) -> bool,
) -> Result<(), CliFailure> {
    let began = Instant::now();
    loop {
        let ended = child.try_wait();
        if let Some(status) =
            ended.map_err(|error| CliFailure::read_failed(what.to_owned(), error))?
        {
            let messages = log.added().unwrap_or_default();
            let ended = DetachError::Ended {
                what,
                status,
                messages,
            };
            return Err(ended.into());
        }
        if is_ready(Pid::from_child(&child)) {
            return Ok(());
        }
        if began.elapsed() > MAX_STARTUP {
            let log = log.path.clone();
            return Err(DetachError::Silent {
                pid: child.id(),
                log,
            }
            .into());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns whether the process `own` answers at the socket in `data`. Another service may hold the
/// directory.
fn is_ready(data: &Path, own: Pid) -> bool {
    let socket = data_dir::socket(data);
    let listener = UnixStream::connect(&socket).and_then(|stream| Ok(socket_peercred(&stream)?));
    let is_ours = listener.is_ok_and(|listener| listener.pid == own);
    let status = || ApiClient::connect(&socket)?.get::<ServiceStatus>("/v1/status");
    is_ours && status().is_ok()
}
