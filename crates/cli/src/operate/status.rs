//! `tollgate status`.

use std::io::{self, Write};

use tollgate_client::types::{ServiceObjectives, ServiceStatus};

use super::figures::{self, StatusView};
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::pluralise;

/// The options of `tollgate status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// `tollgate status`.
pub(crate) fn run(args: &StatusArgs) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let status: ServiceStatus = client.get("/v1/status")?;
    let objectives: ServiceObjectives = client.get("/v1/objectives")?;
    let view = StatusView { status, objectives };
    let status = &view.status;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &view)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let now = format::now();
            let since = format::format_local_time(&status.up_since_at, &now);
            let ServiceStatus {
                version,
                pid,
                policy,
                market,
                ..
            } = status;
            writeln!(
                out,
                "tollgate {version} answers (process {pid}, up since {since})"
            )?;
            writeln!(out, "  policy  {policy}, market {market}")?;
            if let Some(ahead_s) = status.clock_ahead_s {
                let ahead = format::format_span(ahead_s);
                writeln!(
                    out,
                    "  clock   {ahead} ahead of the host's, which was set back"
                )?;
            }
            writeln!(
                out,
                "  nodes   {}, {} idle",
                status.nodes, status.idle_nodes
            )?;
            if status.workers + status.workers_disconnected > 0 {
                writeln!(
                    out,
                    "  workers {} connected, {} disconnected",
                    status.workers, status.workers_disconnected
                )?;
            }
            let suspended = match status.suspended {
                0 => String::new(),
                n => format!(" ({n} suspended)"),
            };
            writeln!(
                out,
                "  jobs    {} running{suspended}, {} queued, {} held",
                status.running, status.queued, status.held
            )?;
            for risk in &status.risks {
                let promises = pluralise(risk.promises as usize, "promise");
                writeln!(out, "  at risk {promises}: {}", risk.cause)?;
            }
            if let (Some(from), Some(until)) =
                (&status.maintenance_from_at, &status.maintenance_until_at)
            {
                let [from, until] = [from, until].map(|at| format::format_local_time(at, &now));
                writeln!(out, "  no jobs {from} to {until} (maintenance)")?;
            }
            figures::render_books(&mut out, status, &view.objectives)?;
            if let Some(shadow) = &status.shadow {
                figures::render_shadow(&mut out, &status.policy, shadow, &now)?;
            }
        }
    }
    Ok(())
}
