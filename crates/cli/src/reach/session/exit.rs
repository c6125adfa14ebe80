//! `tollgate session exit`: nothing is left, at no site.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant as WallInstant};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_client::{cancel_unless_over, unfinished_jobs};
use tollgate_inside::host::is_alive;
use tollgate_model::Instant;
use tollgate_sites::{
    KeepLock, PilotsLeft, SiteControl, SiteError, SiteSettings, end_pilots, for_sites,
};

use super::error::SessionError;
use super::folder::SessionFolder;
use super::moving::SessionAgency;
use super::start::{holder_process, runner_process, service_process};
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise};
use crate::reach::site::program;

/// How long a process of the session may take to end.
const PROCESS_LIMIT: Duration = Duration::from_secs(20);
/// The pause between two looks at a process.
const PROCESS_PAUSE: Duration = Duration::from_millis(20);

/// End a session: its jobs, its pilots, its service.
///
/// Returns when no site has a pilot of the session. The history of its jobs stays for a session of the
/// same name.
#[derive(Debug, clap::Args)]
pub(super) struct SessionExitArgs {
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
    /// Cancel unfinished jobs; do not wait for sites that fail
    #[arg(long)]
    force: bool,
    /// Remove the history of the session, too
    #[arg(long)]
    forget: bool,
}

/// The jobs of a session that are not over.
pub(super) struct UnfinishedJobs {
    /// Those of the service, by number.
    own: Vec<u64>,
    /// The number of those of the scheduler inside the pilots.
    inside: usize,
}

/// `tollgate session exit`.
pub(super) fn run(args: &SessionExitArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let record = folder.record()?;
    if record.is_some_and(|record| record.goes_on()) {
        if !args.force {
            let jobs = UnfinishedJobs::ask(&folder)?;
            if jobs.count() > 0 {
                let (name, jobs) = (folder.name().to_owned(), jobs.describe());
                return Err(SessionError::Unfinished { name, jobs }.into());
            }
        }
        end_session(&folder, args.force)?;
    } else if !args.forget {
        return Err(SessionError::Ended(folder.name().to_owned()).into());
    }
    let holder = holder_process(&folder);
    if args.forget {
        folder.remove()?;
    }
    // Last, because this command may run in the session's shell.
    match holder {
        Some(holder) => end_process(&folder, holder, "the terminal"),
        None => Ok(()),
    }
}

impl UnfinishedJobs {
    /// Asks the service of a session, and the scheduler inside its pilots.
    ///
    /// # Errors
    /// If one does not answer.
    pub(super) fn ask(folder: &SessionFolder) -> Result<Self, CliFailure> {
        let mut client = folder.service().connect()?;
        Ok(Self {
            own: unfinished_jobs(&mut client, None, 0, u64::MAX)?,
            inside: match folder.scheduler()? {
                Some(scheduler) => scheduler.load()?.total(),
                None => 0,
            },
        })
    }

    /// Returns their number.
    pub(super) fn count(&self) -> usize {
        self.own.len() + self.inside
    }

    /// Says how many there are: `1 job has not ended`.
    pub(super) fn describe(&self) -> String {
        let verb = if self.count() == 1 { "has" } else { "have" };
        format!("{} {verb} not ended", pluralise(self.count(), "job"))
    }

    fn cancel(&self, folder: &SessionFolder) -> Result<(), CliFailure> {
        let mut client = folder.service().connect()?;
        // Those inside end with their scheduler.
        for id in &self.own {
            cancel_unless_over(&mut client, *id)?;
        }
        Ok(())
    }
}

/// Ends the jobs, the pilots and the service of a session. Its terminal stays. With `force`, a service
/// or a site that fails does not keep the session.
///
/// # Errors
/// If something may be left.
pub(super) fn end_session(folder: &SessionFolder, force: bool) -> Result<(), CliFailure> {
    let _lock = folder.lock()?;
    let began = WallInstant::now();
    let mut out = io::stdout();
    let sites_dir = folder.sites_dir();
    // From here on, no pilot is submitted: this process has the lock.
    let _keep = stop_keeping(folder)?;
    let mut left = match SessionAgency::find(folder) {
        Some(agency) => {
            let end = |pid| end_process(folder, pid, "the agent of a site");
            agency.stop(&folder.sites()?.sites, &end)?
        }
        None => Vec::new(),
    };
    match UnfinishedJobs::ask(folder) {
        Ok(jobs) if jobs.count() > 0 => {
            jobs.cancel(folder)?;
            writeln!(out, "{} cancelled", pluralise(jobs.count(), "job"))?;
        }
        Ok(_) => {}
        Err(failure) if force => Verbosity::Notes.note(failure),
        Err(failure) => return Err(failure),
    }
    let mut sites = folder.sites()?.sites;
    // The agent of a site on its own host has ended its pilots.
    sites.retain(|site| site.agent.is_none());
    let program = program()?;
    let ended = for_sites(&sites, |site| {
        let control = SiteControl::open(site.clone(), &sites_dir, &program);
        let left = control.and_then(end_pilots);
        (
            site,
            left.unwrap_or_else(|error| PilotsLeft::Some(error.to_string())),
        )
    });
    for (SiteSettings { name, .. }, pilots) in ended {
        match pilots {
            PilotsLeft::None => writeln!(out, "site {name}: no pilot is left")?,
            PilotsLeft::Some(what) => left.push(format!("site {name}: {what}")),
        }
    }
    if !left.is_empty() {
        let left = left.join("; ");
        if !force {
            let name = folder.name().to_owned();
            return Err(SessionError::PilotsLeft { name, left }.into());
        }
        Verbosity::Notes.note(format_args!("pilots that may be left: {left}"));
    }
    if let Some(scheduler) = folder.scheduler()? {
        scheduler.stop()?;
    }
    if let Some(service) = service_process(folder) {
        end_process(folder, service, "the service")?;
    }
    if let Some(runner) = runner_process(folder) {
        end_process(folder, runner, "the runner of the service")?;
    }
    if let Some(record) = folder.record()? {
        let now = Instant::from_micros(format::now().timestamp().as_microsecond());
        folder.write_record(&super::folder::SessionRecord {
            ended_at: Some(now),
            ..record
        })?;
    }
    let took = format::format_span(began.elapsed().as_secs_f64());
    writeln!(out, "session {} ended, in {took}", folder.name())?;
    Ok(())
}

/// Stops the command that submits pilots, and takes its lock.
fn stop_keeping(folder: &SessionFolder) -> Result<KeepLock, CliFailure> {
    let dir = folder.sites_dir();
    let deadline = WallInstant::now() + PROCESS_LIMIT;
    loop {
        match KeepLock::take(&dir) {
            Ok(lock) => return Ok(lock),
            Err(SiteError::Kept(holder)) => {
                let holder = holder.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
                if let Some(holder) = holder {
                    // It may have ended by itself.
                    let _ = kill_process(holder, Signal::TERM);
                }
                if WallInstant::now() > deadline {
                    return Err(not_ended(folder, "`site keep`"));
                }
                thread::sleep(PROCESS_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks a process to end, and waits until it has.
pub(super) fn end_process(folder: &SessionFolder, pid: Pid, what: &str) -> Result<(), CliFailure> {
    let _ = kill_process(pid, Signal::TERM);
    let deadline = WallInstant::now() + PROCESS_LIMIT;
    // Nothing reaps a detached process where the first process of a container does not.
    while is_alive(pid) {
        if WallInstant::now() > deadline {
            return Err(not_ended(folder, what));
        }
        thread::sleep(PROCESS_PAUSE);
    }
    Ok(())
}

fn not_ended(folder: &SessionFolder, what: &str) -> CliFailure {
    let name = folder.name().to_owned();
    let problem = format!("{what} did not end within {} s", PROCESS_LIMIT.as_secs());
    SessionError::Process { name, problem }.into()
}
