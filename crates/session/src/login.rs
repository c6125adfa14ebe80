//! The process on the terminal of a session: it runs the user's shell, and ends the session after it.

use std::env;
use std::process::Command;

use crate::context::SessionContext;
use crate::error::SessionError;
use crate::exit::{UnfinishedJobs, end_session};
use crate::folder::SessionFolder;

/// The hidden argument with which the program is this process.
pub const LOGIN_ARG: &str = "__session-login";
/// The shell of a user whose environment names none.
const DEFAULT_SHELL: &str = "/bin/sh";

/// The user on the terminal of a session.
pub trait LoginUser {
    /// An error of the session or of the terminal.
    type Error: From<SessionError>;

    /// Asks whether the session is to end with these jobs. A service that does not answer keeps its jobs; then the
    /// user has to know the error.
    ///
    /// # Errors
    /// If the terminal is gone.
    fn confirm_end(
        &mut self,
        jobs: Result<UnfinishedJobs, SessionError>,
    ) -> Result<bool, Self::Error>;

    /// Shows why the session has not ended.
    fn show_failure(&mut self, error: Self::Error);
}

/// Runs shells on this terminal until the session ends.
///
/// # Errors
/// If there is no shell, or the record of the session cannot be read.
pub fn log_in<U: LoginUser>(
    folder: &SessionFolder,
    context: &SessionContext<'_>,
    user: &mut U,
) -> Result<(), U::Error> {
    loop {
        run_shell(folder)?;
        if !folder.goes_on()? {
            // Another command has ended the session.
            return Ok(());
        }
        match end_after_shell(folder, context, user) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(failure) => user.show_failure(failure),
        }
    }
}

fn run_shell(folder: &SessionFolder) -> Result<(), SessionError> {
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| DEFAULT_SHELL.into());
    let mut command = Command::new(&shell);
    folder.enter(&mut command);
    let ended = command.status();
    ended.map_err(|error| SessionError::unreadable(shell.as_ref(), error))?;
    Ok(())
}

/// Ends the session after its shell has ended. Asks before jobs are cancelled. Returns whether the
/// session has ended.
fn end_after_shell<U: LoginUser>(
    folder: &SessionFolder,
    context: &SessionContext<'_>,
    user: &mut U,
) -> Result<bool, U::Error> {
    let jobs = UnfinishedJobs::query(folder, context);
    let has_none = jobs.as_ref().is_ok_and(|jobs| jobs.count() == 0);
    if !has_none && !user.confirm_end(jobs)? {
        return Ok(false);
    }
    end_session(folder, true, context)?;
    Ok(true)
}
