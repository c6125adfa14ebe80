//! The end of a session: nothing is left, at no site.

use std::fmt;
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_client::{cancel_unless_over, unfinished_jobs};
use tollgate_sites::{
    KeepLock, RemainingPilots, SiteControl, SiteError, SiteSettings, end_pilots, for_sites, now,
};

use crate::context::{SessionContext, SessionEvent};
use crate::ending::{PROCESS_LIMIT, PROCESS_PAUSE, end_process, not_ended};
use crate::error::SessionError;
use crate::folder::SessionFolder;
use crate::moving::SessionAgency;
use crate::processes::{holder_process, runner_process, service_process};
use crate::record::SessionRecord;

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitOptions {
    /// Cancels unfinished jobs, and does not wait for sites that fail.
    pub force: bool,
    /// Removes the history of the session, too.
    pub forget: bool,
}

/// The jobs of a session that are not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJobs {
    /// Those of the service, by number.
    own: Vec<u64>,
    /// The number of those of the scheduler inside the pilots.
    inside: usize,
}

/// Ends a session: its jobs, its pilots, its service, and last its terminal.
///
/// # Errors
/// If the session has ended before, jobs are not over, or something may be left; with `force` only if a process
/// of this host does not end.
pub fn exit_session(
    folder: &SessionFolder,
    options: ExitOptions,
    context: &SessionContext<'_>,
) -> Result<(), SessionError> {
    if folder.goes_on()? {
        if !options.force {
            let jobs = UnfinishedJobs::query(folder, context)?;
            if jobs.count() > 0 {
                let (name, jobs) = (folder.name().to_owned(), jobs.to_string());
                return Err(SessionError::Unfinished { name, jobs });
            }
        }
        end_session(folder, options.force, context)?;
    } else if !options.forget {
        return Err(SessionError::Ended(folder.name().to_owned()));
    }
    let holder = holder_process(folder);
    if options.forget {
        folder.remove()?;
    }
    // Last, because this command may run in the session's shell.
    match holder {
        Some(holder) => end_process(folder, holder, "the terminal"),
        None => Ok(()),
    }
}

impl UnfinishedJobs {
    /// Asks the service of a session, and the scheduler inside its pilots.
    ///
    /// # Errors
    /// If one does not answer.
    pub(crate) fn query(
        folder: &SessionFolder,
        context: &SessionContext<'_>,
    ) -> Result<Self, SessionError> {
        let mut client = context.connect(folder)?;
        Ok(Self {
            own: unfinished_jobs(&mut client, None, 0, u64::MAX)?,
            inside: match folder.scheduler()? {
                Some(scheduler) => scheduler.load()?.total(),
                None => 0,
            },
        })
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.own.len() + self.inside
    }

    fn cancel(
        &self,
        folder: &SessionFolder,
        context: &SessionContext<'_>,
    ) -> Result<(), SessionError> {
        let mut client = context.connect(folder)?;
        // Those inside end with their scheduler.
        for id in &self.own {
            cancel_unless_over(&mut client, *id)?;
        }
        Ok(())
    }
}

/// `1 job has not ended`.
impl fmt::Display for UnfinishedJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => f.write_str("1 job has not ended"),
            count => write!(f, "{count} jobs have not ended"),
        }
    }
}

/// Ends the jobs, the pilots and the service of a session. Its terminal stays. With `force`, a service
/// or a site that fails does not keep the session.
///
/// # Errors
/// If something may be left.
pub(crate) fn end_session(
    folder: &SessionFolder,
    force: bool,
    context: &SessionContext<'_>,
) -> Result<(), SessionError> {
    let _lock = folder.lock()?;
    let began = Instant::now();
    // From here on, no pilot is submitted: this process has the lock.
    let _keep = stop_keeping(folder)?;
    let mut left = match SessionAgency::find(folder) {
        Some(agency) => agency.stop(folder)?,
        None => Vec::new(),
    };
    end_jobs(folder, force, context)?;
    left.extend(end_sites(folder, context)?);
    if !left.is_empty() {
        let left = left.join("; ");
        if !force {
            let name = folder.name().to_owned();
            return Err(SessionError::RemainingPilots { name, left });
        }
        (context.report)(SessionEvent::RemainingPilots(left));
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
        folder.write_record(&SessionRecord {
            ended_at: Some(now()),
            ..record
        })?;
    }
    (context.report)(SessionEvent::Ended {
        session: folder.name().to_owned(),
        took: began.elapsed(),
    });
    Ok(())
}

/// Cancels the jobs that are not over.
fn end_jobs(
    folder: &SessionFolder,
    force: bool,
    context: &SessionContext<'_>,
) -> Result<(), SessionError> {
    match UnfinishedJobs::query(folder, context) {
        Ok(jobs) if jobs.count() > 0 => {
            jobs.cancel(folder, context)?;
            (context.report)(SessionEvent::JobsCancelled(jobs.count()));
        }
        Ok(_) => {}
        Err(failure) if force => (context.report)(SessionEvent::JobsUnknown(failure)),
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Ends the pilots at all sites. Returns those that may be left, by site.
fn end_sites(
    folder: &SessionFolder,
    context: &SessionContext<'_>,
) -> Result<Vec<String>, SessionError> {
    let mut sites = folder.sites()?.sites;
    // The agent of a site on its own host has ended its pilots.
    sites.retain(|site| site.agent.is_none());
    let (sites_dir, program) = (folder.sites_dir(), context.program_text());
    let ended = for_sites(&sites, |site| {
        let control = SiteControl::open(site.clone(), &sites_dir, &program);
        let left = control.and_then(end_pilots);
        (
            site,
            left.unwrap_or_else(|error| RemainingPilots::Some(error.to_string())),
        )
    });
    let mut left = Vec::new();
    for (SiteSettings { name, .. }, pilots) in ended {
        match pilots {
            RemainingPilots::None => (context.report)(SessionEvent::SiteEnded(name.clone())),
            RemainingPilots::Some(what) => left.push(format!("site {name}: {what}")),
        }
    }
    Ok(left)
}

/// Stops the command that submits pilots, and takes its lock.
fn stop_keeping(folder: &SessionFolder) -> Result<KeepLock, SessionError> {
    let dir = folder.sites_dir();
    let deadline = Instant::now() + PROCESS_LIMIT;
    loop {
        match KeepLock::take(&dir) {
            Ok(lock) => return Ok(lock),
            Err(SiteError::Kept(holder)) => {
                let holder = holder.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
                if let Some(holder) = holder {
                    // It may have ended by itself.
                    let _ = kill_process(holder, Signal::TERM);
                }
                if Instant::now() > deadline {
                    return Err(not_ended(folder, "`site keep`"));
                }
                thread::sleep(PROCESS_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_jobs_are_counted_with_those_inside() {
        let jobs = |own: &[u64], inside| UnfinishedJobs {
            own: own.to_vec(),
            inside,
        };
        assert_eq!(jobs(&[7], 0).to_string(), "1 job has not ended");
        assert_eq!(jobs(&[7], 2).to_string(), "3 jobs have not ended");
    }
}
