//! `tollgate session agents`: the pilots of a session at each site, and what was done there.

use std::io::{self, Write};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::Instant;
use tollgate_session::{SessionAgency, SessionFolder, SiteAgreement};
use tollgate_sites::{SiteControl, SiteError, for_sites};

use super::agreement;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::print_error;
use crate::reach::site::{SiteReport, note_joined, program};

/// How long another command at a site is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of lines of each site's log.
const LOG_LINES: usize = 3;

/// Show the pilots of a session, site by site.
#[derive(Debug, clap::Args)]
pub(super) struct SessionAgentsArgs {
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
    /// Show the pilots as they were last seen, without asking
    #[arg(long)]
    cached: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The pilots of a session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SessionAgents {
    /// Name of the session.
    session: String,
    /// Its agents; none if its pilots do not move.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<SiteAgreement>,
    /// Its sites, in the order of its file.
    sites: Vec<SiteReport>,
}

/// `tollgate session agents`. A site that does not answer is shown as it was last seen, with the error.
pub(super) fn run(args: &SessionAgentsArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let (state, program) = (folder.sites_dir(), program()?);
    let settings = folder.sites()?.sites;
    let agreement = SessionAgency::find(&folder);
    let agreement = agreement.as_ref().map(SiteAgreement::query).transpose()?;
    let now = format::now();
    let instant = Instant::from_micros(now.timestamp().as_microsecond());
    let service = ServiceAddressArgs::in_data_dir(folder.data());
    let is_inside = folder.scheduler()?.is_some();
    let looked = for_sites(&settings, |site| {
        // Agents look at their sites all the time, and a command that is at work there does so now.
        let is_cached = args.cached || agreement.is_some();
        let opened = match is_cached {
            true => Err(SiteError::Busy(site.name.clone())),
            false => SiteControl::open_within(site.clone(), &state, &program, LOCK_TIMEOUT),
        };
        match opened {
            Ok(mut site) => {
                let refreshed = site.refresh();
                if refreshed.is_ok() && !is_inside {
                    note_joined(&mut site, &service)?;
                }
                Ok((SiteReport::new(&site, instant, LOG_LINES), refreshed.err()))
            }
            Err(SiteError::Busy(_)) => {
                let report = SiteReport::last_seen(site, &state, instant, LOG_LINES)?;
                Ok((report, None))
            }
            Err(error) => Err(error),
        }
    });
    let mut sites = Vec::new();
    for site in looked {
        let (report, error) = site?;
        if let Some(error) = error {
            print_error(error, None);
        }
        sites.push(report);
    }
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => {
            let session = folder.name().to_owned();
            let answer = SessionAgents {
                session,
                agreement,
                sites,
            };
            format::write_json(&mut out, &answer)?;
        }
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            if let Some(agreement) = &agreement {
                agreement::write_table(agreement, &mut out, &now)?;
            }
            for (at, report) in sites.iter().enumerate() {
                if at > 0 || agreement.is_some() {
                    writeln!(out)?;
                }
                report.write_table(&mut out, &now)?;
            }
        }
    }
    Ok(())
}
