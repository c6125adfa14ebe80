//! The process on the terminal of a session, as its user sees it.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use tollgate_inside::SchedulerKind;
use tollgate_session::{LoginUser, SessionError, SessionFolder, UnfinishedJobs};

use super::events::SessionPrinter;
use crate::exit::CliFailure;
use crate::output::messages;

/// The user at the terminal of this process.
struct TerminalUser;

/// Runs shells on this terminal until the session ends.
pub(crate) fn log_in(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let name = words.next().unwrap_or_default();
    let run = || {
        let folder = SessionFolder::find(Some(&name.to_string_lossy()))?;
        welcome(&folder)?;
        SessionPrinter::new()?
            .watch(|context| tollgate_session::log_in(&folder, context, &mut TerminalUser))
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

impl LoginUser for TerminalUser {
    type Error = CliFailure;

    fn confirm_end(
        &mut self,
        jobs: Result<UnfinishedJobs, SessionError>,
    ) -> Result<bool, CliFailure> {
        let question = match jobs {
            Ok(jobs) => jobs.to_string(),
            Err(failure) => format!("it is not known which jobs have ended: {failure}"),
        };
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

    fn show_failure(&mut self, failure: CliFailure) {
        messages::print_error(failure, None);
    }
}
