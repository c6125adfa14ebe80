//! `tollgate alter`.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_client::types::{AlterRequest, AlterResponse};

use super::answer::{number_of, render_answer};
use super::cluster_job::ClusterJob;
use super::job_numbers::parse_cluster_job_id;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::parse;
use crate::parse::TypedSpan;

/// The options of `tollgate alter`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AlterArgs {
    /// Number of the job
    #[arg(value_parser = parse_cluster_job_id)]
    id: ClusterJob,
    /// Latest finish, as for `submit`, or `none`
    #[arg(long, short, value_name = "TIME")]
    deadline: Option<String>,
    /// Expected run time, as in 90s or 1h30m
    #[arg(long, short = 'e', value_name = "SPAN", value_parser = parse::parse_typed_span)]
    estimate: Option<TypedSpan>,
    /// Name of the job
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Most tasks of an array that run at once, or `none`
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    throttle: Option<TaskLimit>,
    /// End the job after this time, as in 2h, or `none`
    #[arg(long, value_name = "SPAN", value_parser = parse_time_limit)]
    time_limit: Option<AlteredLimit>,
    /// Remark about the job
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The most tasks of an array that run at once; None without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TaskLimit(Option<u32>);

fn parse_limit(words: &str) -> Result<TaskLimit, String> {
    match (words, words.parse()) {
        ("none", _) => Ok(TaskLimit(None)),
        (_, Ok(limit @ 1..)) => Ok(TaskLimit(Some(limit))),
        (_, _) => Err(String::from("expected a number from 1 on, or `none`")),
    }
}

/// A time limit in seconds; None without one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AlteredLimit(Option<f64>);

fn parse_time_limit(words: &str) -> Result<AlteredLimit, String> {
    match words {
        "none" => Ok(AlteredLimit(None)),
        words => parse::parse_span(words).map(|secs| AlteredLimit(Some(secs))),
    }
}

impl AlterArgs {
    /// Returns notes about values that may mean something else to their user.
    fn notes(&self, now: &Zoned) -> impl Iterator<Item = String> {
        let estimate = self.estimate.and_then(|span| span.note("estimate"));
        let deadline = self.deadline.as_deref();
        let deadline = deadline.and_then(|words| parse::note_of_deadline(words, now));
        estimate.into_iter().chain(deadline)
    }
}

/// `tollgate alter`.
pub(crate) fn alter(args: &AlterArgs) -> Result<(), CliFailure> {
    let now = format::now();
    args.notes(&now)
        .for_each(|note| Verbosity::Notes.note(note));
    let mut request = AlterRequest {
        name: args.name.clone(),
        estimate_s: args.estimate.map(|span| span.secs),
        max_running: args.throttle.and_then(|limit| limit.0),
        no_max_running: args.throttle == Some(TaskLimit(None)),
        time_limit_s: args.time_limit.and_then(|limit| limit.0),
        no_time_limit: args.time_limit == Some(AlteredLimit(None)),
        comment: args.comment.clone(),
        ..AlterRequest::default()
    };
    match args.deadline.as_deref() {
        None => {}
        Some("none") => request.no_deadline = true,
        Some(words) => {
            (request.deadline_s, request.deadline_at) = parse::parse_deadline(words, &now)?;
        }
    }
    let path = format!("/v1/jobs/{}/alter", args.id.job);
    let address = args.id.address(&args.address)?;
    let done: AlterResponse = address.connect()?.post_with_key(&path, &request)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &done)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let number = format!("{}{}", args.id.prefix(), number_of(&done.answer));
            render_answer(&mut out, &done.answer, &number, &now)?;
            if !done.altered {
                writeln!(out, "job {}: unchanged: it stays as it was", args.id)?;
            }
        }
    }
    match done.altered {
        true => Ok(()),
        false => Err(ClientCommandError::Unaltered.into()),
    }
}
