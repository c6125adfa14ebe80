//! The options of a pilot: a worker inside a job of another scheduler.

mod schedulers;
mod until;

use std::time::Duration;

use tollgate_server::workers::daemon::DepartureConfig;

pub(super) use until::resolve as resolve_end;

use super::parse;
use crate::exit::CliFailure;

/// The heading of these options in the help.
const HEADING: &str = "Pilots";

/// Options of a worker inside a job of another scheduler.
#[derive(Debug, clap::Args)]
pub(super) struct PilotArgs {
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
}

impl PilotArgs {
    /// Checks the options, and asks the scheduler for the end if that is wanted.
    pub(super) fn departure(&self) -> Result<DepartureConfig, CliFailure> {
        let until = self.until.as_deref();
        Ok(DepartureConfig {
            is_pilot: self.pilot,
            until: until.map(until::resolve).transpose()?,
            max_idle: self.idle.map(Duration::from_secs_f64),
            site: self.site.clone(),
        })
    }
}
