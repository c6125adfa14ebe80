//! The end of a process of a session.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_host::is_process_alive;

use crate::error::SessionError;
use crate::folder::SessionFolder;

/// How long a process of the session may take to end.
pub(crate) const PROCESS_LIMIT: Duration = Duration::from_secs(20);
/// The pause between two looks at a process.
pub(crate) const PROCESS_PAUSE: Duration = Duration::from_millis(20);

/// Asks a process to end, and waits until it has.
///
/// # Errors
/// If it has not within [`PROCESS_LIMIT`].
pub(crate) fn end_process(
    folder: &SessionFolder,
    pid: Pid,
    what: &str,
) -> Result<(), SessionError> {
    let _ = kill_process(pid, Signal::TERM);
    let deadline = Instant::now() + PROCESS_LIMIT;
    // Nothing reaps a detached process where the first process of a container does not.
    while is_process_alive(pid) {
        if Instant::now() > deadline {
            return Err(not_ended(folder, what));
        }
        thread::sleep(PROCESS_PAUSE);
    }
    Ok(())
}

/// Returns the error of a process that did not end in time.
pub(crate) fn not_ended(folder: &SessionFolder, what: &str) -> SessionError {
    let name = folder.name().to_owned();
    let problem = format!("{what} did not end within {} s", PROCESS_LIMIT.as_secs());
    SessionError::Process { name, problem }
}
