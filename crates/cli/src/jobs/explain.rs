//! `tollgate explain`.

use std::io::{self, Write};

use tollgate_client::types::JobExplanation;

use super::cluster_job::{ClusterJob, parse_cluster_job};
use super::job_numbers::parse_job_id;
use super::{answer, array_outlook, history, outcome};
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::reach::site;

/// The word in the place of a job that means a site.
const SITE_WORD: &str = "site";

/// The options of `tollgate explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Number of the job or task, as in 7_3; or `site`
    ///
    /// north:7 is a job of the cluster `north`.
    #[arg(value_parser = parse_explained)]
    id: ClusterJob,
    /// With `site`: the name of the site
    #[arg(required_if_eq("id", SITE_WORD))]
    name: Option<String>,
    /// Show what happened, and what was expected as time went by
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Parses what is to be explained: a job or tasks of an array, or the word for a site.
fn parse_explained(words: &str) -> Result<ClusterJob, String> {
    parse_cluster_job(words, |job| match job {
        SITE_WORD => Ok(job.to_owned()),
        job => parse_job_id(job),
    })
}

/// `tollgate explain`.
pub(crate) fn run(args: &ExplainArgs) -> Result<(), CliFailure> {
    match &args.name {
        Some(name) if args.id.job == SITE_WORD => {
            let address = args.id.address(&args.address)?;
            return site::explain(name, &address, args.format);
        }
        Some(word) => return Err(ClientCommandError::Superfluous { word: word.clone() }.into()),
        None => {}
    }
    if args.history {
        return history::print(&args.id, &args.address, args.format);
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
                answer::render_quote_of_rejected(&mut out, quote, &now)?;
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
