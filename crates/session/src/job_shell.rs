//! A job on a terminal of the user's.

use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_client::types::{JobExplanation, JobRef, JobRequest};
use tollgate_client::{ApiClient, ClientError};
use tollgate_terminal::remote::{ListenError, UNREACHABLE};
use tollgate_terminal::{
    AttachError, JOB_COMMAND_ARG, TERMINAL_TICKET, TerminalAccess, TerminalArrival,
    TerminalListener,
};

use crate::attach::{TerminalEnd, attach_here};

/// Time between two looks whether the job has connected, or a signal has arrived.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two questions to the service why the job waits.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// The variables of a terminal that a job on it needs.
const TERMINAL_VARIABLES: [&str; 2] = ["TERM", "COLORTERM"];
/// The command of the job. The program may be elsewhere on the job's host.
const LAUNCH: &str = "p=$0; test -x \"$p\" || p=tollgate; exec \"$p\" \"$@\"";

/// A terminal that waits for its job.
pub struct JobShell {
    listener: TerminalListener,
}

/// The user who waits for a job on a terminal.
pub trait JobShellUser {
    /// An error of the service or of the terminal.
    type Error: From<JobShellError> + From<ClientError>;

    /// Connects to the service of the job.
    ///
    /// # Errors
    /// If the service does not answer.
    fn connect(&self) -> Result<ApiClient, Self::Error>;

    /// Shows why the job waits.
    fn show_wait(&self, reason: &str);
}

/// An error of a job on a terminal.
#[derive(Debug, thiserror::Error)]
pub enum JobShellError {
    /// The job cannot reach this host.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The job ended before it was connected.
    #[error("job {id} ended before its terminal was connected: {status}")]
    Ended {
        /// The number of the job.
        id: u64,
        /// How it ended.
        status: String,
    },
    /// The job's host cannot reach this one.
    #[error("job {id}: its host cannot connect to this one")]
    Unreachable {
        /// The number of the job.
        id: u64,
    },
    /// The connection is gone.
    #[error("job {0}: the connection is gone, and the job is ended")]
    Lost(u64),
    /// This terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] AttachError),
}

impl JobShell {
    /// Listens for the job.
    ///
    /// # Errors
    /// If the system refuses. From now on, SIGINT, SIGTERM and SIGHUP do not end this process by themselves.
    pub fn open() -> Result<Self, JobShellError> {
        let listener = TerminalListener::bind()?;
        Ok(Self { listener })
    }

    /// Returns the words that a job executes to run a command on a terminal; without one, the user's shell.
    /// `program` is the file of this program.
    pub fn job_command(program: &Path, command: &[String]) -> Vec<String> {
        let program = program.to_string_lossy();
        let launch = ["/bin/sh", "-c", LAUNCH, &program, JOB_COMMAND_ARG].map(str::to_owned);
        launch.into_iter().chain(command.iter().cloned()).collect()
    }

    /// Gives a job the variables by which it finds this terminal.
    pub fn add_variables(&self, request: &mut JobRequest) {
        for name in TERMINAL_VARIABLES {
            if let Ok(value) = env::var(name) {
                request.env.insert(name.to_owned(), value);
            }
        }
        let ticket = self.listener.ticket().to_owned();
        request.env.insert(TERMINAL_TICKET.to_owned(), ticket);
    }

    /// Waits for the submitted job `id`, and runs it on this terminal. A job that cannot go on there is cancelled.
    ///
    /// # Errors
    /// If the job ends before it is connected, or its connection is lost.
    pub fn run<U: JobShellUser>(self, id: u64, user: &U) -> Result<TerminalEnd, U::Error> {
        let ended = match self.wait_for_job(id, user)? {
            TerminalArrival::Connected(stream) => attach_here(stream, TerminalAccess::Write),
            TerminalArrival::Signal(signal) => Ok(Some(TerminalEnd::Signal(signal))),
            TerminalArrival::NotYet => Ok(None),
        };
        if let Ok(Some(end @ TerminalEnd::Ended(_))) = ended {
            return Ok(end);
        }
        // The job may have ended already.
        let _ = user
            .connect()?
            .post::<JobRef>(&format!("/v1/jobs/{id}/cancel"), &());
        let left = ended.map_err(JobShellError::from)?;
        left.ok_or_else(|| JobShellError::Lost(id).into())
    }

    /// Waits until the job has connected, or a signal asks this process to end. Shows why the job waits.
    fn wait_for_job<U: JobShellUser>(
        &self,
        id: u64,
        user: &U,
    ) -> Result<TerminalArrival, U::Error> {
        let mut look_at = Instant::now() + LOOK_INTERVAL;
        let mut shown = String::new();
        loop {
            match self.listener.wait(POLL_INTERVAL) {
                TerminalArrival::NotYet => {}
                arrived @ (TerminalArrival::Connected(_) | TerminalArrival::Signal(_)) => {
                    return Ok(arrived);
                }
            }
            if Instant::now() < look_at {
                continue;
            }
            look_at = Instant::now() + LOOK_INTERVAL;
            // The job may start although the service does not answer now.
            let Ok(explained) = explain(id, user) else {
                continue;
            };
            check_alive(&explained)?;
            let words = explained.words.join("; ");
            if !words.is_empty() && words != shown {
                user.show_wait(&words);
                shown = words;
            }
        }
    }
}

fn explain<U: JobShellUser>(id: u64, user: &U) -> Result<JobExplanation, U::Error> {
    let path = format!("/v1/jobs/{id}/explain");
    Ok(user.connect()?.get(&path)?)
}

/// Checks that the job has not ended.
fn check_alive(explained: &JobExplanation) -> Result<(), JobShellError> {
    let (job, id) = (&explained.job, explained.job.id);
    match job.state.is_over() {
        true if job.exit_code == Some(UNREACHABLE) => Err(JobShellError::Unreachable { id }),
        true => {
            let status = job.status.clone();
            let status = status.unwrap_or_else(|| job.state.to_string());
            Err(JobShellError::Ended { id, status })
        }
        false => Ok(()),
    }
}
