//! The process on the terminal of a session: it runs the user's shell, and ends the session after it.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode};

use tollgate_inside::SchedulerKind;

use super::exit::{UnfinishedJobs, end_session};
use super::folder::SessionFolder;
use crate::exit::CliFailure;
use crate::output::messages;

/// The hidden argument with which the program is this process.
pub(crate) const LOGIN_ARG: &str = "__session-login";
/// The shell of a user whose environment names none.
const DEFAULT_SHELL: &str = "/bin/sh";

/// Runs shells on this terminal until the session ends.
pub(crate) fn log_in(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let name = words.next().unwrap_or_default();
    let run = || {
        let folder = SessionFolder::find(Some(&name.to_string_lossy()))?;
        welcome(&folder)?;
        loop {
            run_shell(&folder)?;
            if folder.record()?.is_none_or(|record| !record.goes_on()) {
                // Another command has ended the session.
                return Ok(());
            }
            match end_after_shell(&folder) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(failure) => messages::print_error(&failure, None),
            }
        }
    };
    crate::exit::finish(run())
}

fn welcome(folder: &SessionFolder) -> Result<(), CliFailure> {
    let sites = folder.sites()?.sites;
    let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
    let inside = folder.record()?.and_then(|record| record.inside);
    let commands = match inside.map(|inside| inside.kind) {
        None => "`tollgate submit`, `qsub`, `qstat`",
        Some(SchedulerKind::Slurm) => "`sbatch`, `squeue`, `sinfo`",
        Some(SchedulerKind::Htcondor) => "`condor_submit`, `condor_q`, `condor_status`",
    };
    writeln!(
        io::stdout(),
        "Session {}: jobs run on pilots at {}.\n\
         {commands} use this cluster.\n\
         `tollgate session agents` shows the pilots.\n\
         To end the session, type `exit`; to leave it running, press Ctrl-] and d.",
        folder.name(),
        names.join(", "),
    )?;
    Ok(())
}

fn run_shell(folder: &SessionFolder) -> Result<(), CliFailure> {
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| DEFAULT_SHELL.into());
    let mut command = Command::new(&shell);
    folder.enter(&mut command);
    let failed = |error| CliFailure::read_failed(shell.to_string_lossy().into_owned(), error);
    command.status().map_err(failed)?;
    Ok(())
}

/// Ends the session after its shell has ended. Asks before jobs are cancelled. Returns whether the
/// session has ended.
fn end_after_shell(folder: &SessionFolder) -> Result<bool, CliFailure> {
    // A service that does not answer keeps its jobs; the user has to know.
    let question = match UnfinishedJobs::ask(folder) {
        Ok(jobs) if jobs.count() == 0 => None,
        Ok(jobs) => Some(jobs.describe()),
        Err(failure) => Some(format!("it is not known which jobs have ended: {failure}")),
    };
    if let Some(question) = question
        && !confirm(&question)?
    {
        return Ok(false);
    }
    end_session(folder, true)?;
    Ok(true)
}

/// Asks a question on the terminal until it is answered.
///
/// # Errors
/// If the terminal is gone.
fn confirm(question: &str) -> Result<bool, CliFailure> {
    let mut out = io::stdout();
    write!(out, "{question}. End the session, and cancel them? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    let failed = |error| CliFailure::read_failed("the terminal".to_owned(), error);
    if io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
        writeln!(out)?;
    }
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
