//! The options of a pilot: a worker inside a job of another scheduler.

mod memory;
mod schedulers;
mod until;

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_server::workers::daemon::DepartureConfig;

pub(crate) use self::until::resolve as resolve_end;

use crate::exit::CliFailure;
use crate::parse;

/// The heading of these options in the help.
const HEADING: &str = "Pilots";

/// Options of a worker inside a job of another scheduler.
#[derive(Debug, clap::Args)]
pub(crate) struct PilotArgs {
    /// Leave at any signal of a batch system, with tasks and runner
    #[arg(long, help_heading = HEADING)]
    pilot: bool,
    /// End of the worker: +55m, 17:00, an ISO time, or `auto`
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    until: Option<String>,
    /// Leave after this time without a task, if no job waits
    #[arg(long, value_name = "SPAN", help_heading = HEADING, value_parser = parse::parse_span)]
    idle: Option<f64>,
    /// Name of the site, which tasks see as TOLLGATE_SITE
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    site: Option<String>,
    /// Remove the directory of --data after a departure that went well
    #[arg(long, help_heading = HEADING)]
    pub(crate) discard: bool,
    /// Pass tasks the variables that differ from those of `env -0 >FILE`
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    env_since: Option<PathBuf>,
    /// Memory to offer, as in 4G [default: all; with --pilot: that of the batch job]
    #[arg(long, value_name = "SIZE", help_heading = HEADING, value_parser = parse::parse_memory)]
    memory: Option<u64>,
}

impl PilotArgs {
    /// Returns the maximum memory to offer, in bytes: the given one, and at most that of the batch job.
    pub(crate) fn memory(&self) -> Option<u64> {
        let of_job = self.pilot.then(memory::of_job).flatten();
        self.memory.into_iter().chain(of_job).min()
    }

    /// Returns the variables of this process that differ from those of the given file.
    fn changed_environment(&self) -> Result<Vec<(OsString, OsString)>, CliFailure> {
        let Some(file) = &self.env_since else {
            return Ok(Vec::new());
        };
        let before = fs::read(file);
        let before =
            before.map_err(|error| CliFailure::read_failed(file.display().to_string(), error))?;
        Ok(changed(&before, env::vars_os()))
    }

    /// Checks the options, and asks the scheduler for the end if that is wanted.
    pub(crate) fn departure(&self) -> Result<DepartureConfig, CliFailure> {
        let until = self.until.as_deref();
        Ok(DepartureConfig {
            environment: self.changed_environment()?,
            is_pilot: self.pilot,
            until: until.map(until::resolve).transpose()?,
            max_idle: self.idle.map(Duration::from_secs_f64),
            site: self.site.clone(),
        })
    }
}

/// Returns the variables that are not among those of a text `NAME=VALUE`, each with a zero byte behind it.
fn changed(
    before: &[u8],
    now: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let pairs = before.split(|&byte| byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|&byte| byte == b'=')?;
        Some((&pair[..at], &pair[at + 1..]))
    });
    let before: BTreeSet<(&OsStr, &OsStr)> = pairs
        .map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value)))
        .collect();
    let is_new = |(name, value): &(OsString, OsString)| {
        // Shells keep their last argument in this one.
        name != "_" && !before.contains(&(name.as_os_str(), value.as_os_str()))
    };
    now.filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_were_set_or_changed_are_passed_on() {
        let pair = |name: &str, value: &str| (name.into(), value.into());
        let before = b"HOME=/home/ann\0PATH=/bin\0_=/usr/bin/env\0";
        let now = [
            pair("HOME", "/home/ann"),
            pair("PATH", "/opt/gcc/bin:/bin"),
            pair("NOTE", "a=b\nc"),
            pair("_", "/usr/bin/tollgate"),
        ];
        let expected: Vec<(OsString, OsString)> =
            vec![pair("PATH", "/opt/gcc/bin:/bin"), pair("NOTE", "a=b\nc")];
        assert_eq!(changed(before, now.into_iter()), expected);
    }
}
