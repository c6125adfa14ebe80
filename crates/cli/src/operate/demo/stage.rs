//! The commands of the demonstration, run one after the other as a reader would type them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::de::DeserializeOwned;
use tollgate_client::ApiClient;
use tollgate_client::endpoint::{DATA_VARIABLE, URL_VARIABLE};
use tollgate_client::types::{JobDetails, JobList};
use tollgate_store::data_dir;

use crate::exit::{CliError, CliFailure, ExitKind};

/// A demonstration that did not go as told.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    /// A command exited with another code.
    #[error("demo: `{command}`: expected exit code {expected}, got {found}")]
    Exit {
        /// The command as it was shown.
        command: String,
        /// The expected exit code.
        expected: u8,
        /// The exit code of the command.
        found: i32,
    },
    /// The service did something else than a step says.
    #[error("demo: {thing}: expected {expected}, got {found}")]
    Unexpected {
        /// What the step is about.
        thing: String,
        /// What the step says of it.
        expected: String,
        /// What the service says of it.
        found: String,
    },
    /// The demonstration was interrupted.
    #[error("demo: interrupted before its last step")]
    Ended,
}

impl CliError for DemoError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// The command that runs.
#[derive(Debug)]
enum RunningCommand {
    None,
    /// A process, by a descriptor that stands for no other process once this one is gone.
    Process(OwnedFd),
    /// The demonstration is over: no command may start.
    Ended,
}

/// Runs the commands of the demonstration with the service in a data directory.
#[derive(Debug)]
pub(super) struct Stage {
    program: OsString,
    data: PathBuf,
    n_steps: AtomicU32,
    running: Mutex<RunningCommand>,
}

impl Stage {
    /// Returns a stage for the commands of `program` and the service in `data`.
    pub(super) fn new(program: OsString, data: &Path) -> Self {
        Self {
            program,
            data: data.to_owned(),
            n_steps: AtomicU32::new(0),
            running: Mutex::new(RunningCommand::None),
        }
    }

    /// Returns the data directory of the service.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Begins a step with one line of explanation.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn step(&self, explanation: &str) -> Result<(), CliFailure> {
        let step = self.n_steps.fetch_add(1, Relaxed) + 1;
        Ok(writeln!(io::stdout().lock(), "\n{step}. {explanation}")?)
    }

    /// Shows a command line of the program, whose words are parted by spaces, and runs it.
    ///
    /// # Errors
    /// If the command exits with another code than `expected`, or the demonstration is over.
    pub(super) fn run(&self, words: &str, expected: ExitKind) -> Result<(), CliFailure> {
        let command = format!("tollgate {words}");
        let mut out = io::stdout().lock();
        writeln!(out, "$ {command}")?;
        out.flush()?;
        drop(out);
        let expected = expected.code();
        match self.wait_for(words)?.code() {
            Some(found) if found == i32::from(expected) => Ok(()),
            Some(found) => Err(DemoError::Exit {
                command,
                expected,
                found,
            }
            .into()),
            // A signal has ended it: that of the terminal, or of the end of the demonstration.
            None => Err(DemoError::Ended.into()),
        }
    }

    fn wait_for(&self, words: &str) -> Result<ExitStatus, CliFailure> {
        let failed = |error| CliFailure::read_failed("the program itself", error);
        let mut command = Command::new(&self.program);
        command
            .args(words.split(' '))
            // Jobs write their output files here.
            .current_dir(&self.data)
            .env(DATA_VARIABLE, &self.data)
            .env_remove(URL_VARIABLE);
        let mut running = self.running();
        if matches!(*running, RunningCommand::Ended) {
            return Err(DemoError::Ended.into());
        }
        let mut child = command.spawn().map_err(failed)?;
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        *running = RunningCommand::Process(process.map_err(|error| failed(error.into()))?);
        drop(running);
        let status = child.wait().map_err(failed)?;
        let mut running = self.running();
        if matches!(*running, RunningCommand::Process(_)) {
            *running = RunningCommand::None;
        }
        Ok(status)
    }

    /// Ends the demonstration: the command that runs is ended, and no other starts.
    pub(super) fn end(&self) {
        let mut running = self.running();
        if let RunningCommand::Process(process) = &*running {
            // The command may have ended by itself.
            let _ = pidfd_send_signal(process, Signal::TERM);
        }
        *running = RunningCommand::Ended;
    }

    fn running(&self) -> MutexGuard<'_, RunningCommand> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the service answers at a path of its API.
    ///
    /// # Errors
    /// If the service does not answer.
    pub(super) fn query<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliFailure> {
        Ok(ApiClient::connect(&data_dir::socket(&self.data))?.get(path)?)
    }

    /// Returns the job that was submitted last.
    ///
    /// # Errors
    /// If the service does not answer, or has no job.
    pub(super) fn latest_job(&self) -> Result<JobDetails, CliFailure> {
        let list: JobList = self.query("/v1/jobs?limit=1")?;
        let job = list.jobs.into_iter().next();
        job.ok_or_else(|| expect("the latest job", "a job", "none").into())
    }
}

/// Returns the error about a thing of which a step says something else.
pub(super) fn expect(
    thing: impl Into<String>,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> DemoError {
    DemoError::Unexpected {
        thing: thing.into(),
        expected: expected.into(),
        found: found.into(),
    }
}
