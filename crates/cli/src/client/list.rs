//! `tollgate status`, `explain` and `ledger`.

use std::io::{self, Write};

use tollgate_client::types::{JobExplanation, LedgerReport, ServiceObjectives, ServiceStatus};

use super::cluster::ClusterJob;
use super::endpoint::ServiceAddressArgs;
use super::error::ClientCommandError;
use super::figures::{self, StatusView};
use super::{array_outlook, format, outcome, parse, site, submit};
use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::messages::pluralise;
use crate::text_table::{new_table, write_table};

/// The word in the place of a job that means a site.
pub(super) const SITE_WORD: &str = "site";

/// The options of `tollgate status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The options of `tollgate explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Number of the job or task, as in 7_3; or `site`
    ///
    /// north:7 is a job of the cluster `north`.
    #[arg(value_parser = parse::parse_explained)]
    id: ClusterJob,
    /// With `site`: the name of the site
    #[arg(required_if_eq("id", SITE_WORD))]
    name: Option<String>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The options of `tollgate ledger`.
#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// `tollgate status`.
pub(crate) fn status(args: &StatusArgs) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let status: ServiceStatus = client.get("/v1/status")?;
    let objectives: ServiceObjectives = client.get("/v1/objectives")?;
    let standing = StatusView { status, objectives };
    let status = &standing.status;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &standing)?,
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
            writeln!(
                out,
                "  jobs    {} running, {} queued, {} held",
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
            figures::render_books(&mut out, status, &standing.objectives)?;
            if let Some(shadow) = &status.shadow {
                figures::render_shadow(&mut out, &status.policy, shadow, &now)?;
            }
        }
    }
    Ok(())
}

/// `tollgate explain`.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), CliFailure> {
    match &args.name {
        Some(name) if args.id.job == SITE_WORD => {
            let address = args.id.address(&args.address)?;
            return site::explain(name, &address, args.format);
        }
        Some(word) => return Err(ClientCommandError::Superfluous { word: word.clone() }.into()),
        None => {}
    }
    let path = format!("/v1/jobs/{}/explain", args.id.job);
    let address = args.id.address(&args.address)?;
    let explained: JobExplanation = address.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &explained)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let now = format::now();
            let state = format::state_word(&explained.job);
            // A task may have been named by its whole number.
            let id = format::format_job_id(&explained.job);
            writeln!(out, "job {}{id}: {state}", args.id.prefix())?;
            for words in &explained.words {
                writeln!(out, "  {words}")?;
            }
            if let Some(quote) = &explained.quote {
                submit::render_quote_of_rejected(&mut out, quote, &now)?;
            }
            outcome::render(&mut out, &explained.job, &now)?;
            array_outlook::render(&mut out, &explained.job, &now)?;
            let of_job = explained.expected.as_ref();
            if let Some(expected) = of_job.filter(|_| explained.job.array.is_none()) {
                let at = |words: &str| format::format_local_time(words, &now);
                let start = match explained.job.started_at {
                    Some(_) => at(&expected.expected_start_at),
                    None => format::format_waiting_start(expected, &now),
                };
                writeln!(out, "  start     {start}")?;
                writeln!(
                    out,
                    "  finish    {} (8 in 10 finish between {} and {})",
                    at(&expected.expected_finish_at),
                    at(&expected.earliest_finish_at),
                    at(&expected.latest_finish_at)
                )?;
                if let Some(sure) = expected.probability {
                    let sure = format::format_probability(sure);
                    // A job that runs without a promise keeps the reasons for which it has none.
                    let words = match explained.job.reasons.is_empty() {
                        true => "kept",
                        false => "not promised; in time",
                    };
                    writeln!(out, "  deadline  {words} with probability {sure}")?;
                }
            }
        }
    }
    Ok(())
}

/// `tollgate ledger`.
pub(crate) fn ledger(args: &LedgerArgs) -> Result<(), CliFailure> {
    let ledger: LedgerReport = args.address.connect()?.get("/v1/ledger")?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &ledger)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let mut table = new_table();
            table.set_header(["day", "user", "charges", "penalties", "utility"]);
            for account in &ledger.accounts {
                table.add_row([
                    account.day.clone(),
                    account.user_id.to_string(),
                    account.charges.to_string(),
                    account.penalties.to_string(),
                    account.utility.to_string(),
                ]);
            }
            write_table(&mut out, &table)?;
        }
    }
    Ok(())
}
