//! `tollgate session agents`: the pilots of a session at each site, and what was done there.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::Instant;
use tollgate_sites::SiteControl;

use super::agreement::SiteAgreement;
use super::folder::SessionFolder;
use super::moving::SessionAgency;
use crate::args::OutputFormat;
use crate::client::format;
use crate::client::site::{SiteReport, for_sites, program};
use crate::exit::{CliFailure, CsvUnsupported};
use crate::messages::print_error;

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
    let agreement = agreement.as_ref().map(SiteAgreement::ask).transpose()?;
    let now = format::now();
    let instant = Instant::from_micros(now.timestamp().as_microsecond());
    let looked = for_sites(&settings, |site| {
        let mut site = SiteControl::open(site.clone(), &state, &program)?;
        // Agents look at their sites all the time.
        let is_cached = args.cached || agreement.is_some();
        let asked = if is_cached { Ok(()) } else { site.refresh() };
        Ok((SiteReport::new(&site, instant, LOG_LINES), asked.err()))
    });
    let mut sites = Vec::new();
    for site in looked {
        let (report, error) = site.map_err(|error: tollgate_sites::SiteError| error)?;
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
                agreement.write_table(&mut out, &now)?;
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
