//! `tollgate submit` and `tollgate quote`.

use std::io::{self, Write};

use clap::Arg;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use tollgate_client::ApiClient;
use tollgate_client::types::{JobRef, JobRequest, ResubmitRequest, SubmitResponse};
use tollgate_policies::cluster_choice::QuotePreference;
use tollgate_policy::ParameterEnum;

use super::answer::{is_rejected, number_of, render_answer};
use super::batch::BatchArgs;
use super::job_args::JobArgs;
use super::{batch, clock, job_notes};
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::parse;
use crate::reach::cluster;
use crate::reach::cluster::TargetArgs;

/// The options of `tollgate submit`.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    /// Claim the reserved quote of this number; only the command is needed
    #[arg(long, value_name = "ID", conflicts_with = "to")]
    quote: Option<u64>,
    /// Submit the failed job or tasks of this number again
    ///
    /// With the same command and options and under a new number; of an array the tasks that exited with another
    /// code than 0, reached a limit or are lost. Without --deadline there is no deadline.
    #[arg(
        long, value_name = "ID",
        conflicts_with_all = ["quote", "hold", "to", "each_line", "from_json"],
    )]
    failed_of: Option<u64>,
    /// Hold the job until `tollgate release`
    #[arg(long)]
    hold: bool,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    to: TargetArgs,
    /// With --to: the cluster to take, by end, price or probability
    #[arg(
        long, value_name = "RULE", default_value_t, value_parser = parse_preference, requires = "to",
    )]
    prefer: QuotePreference,
    #[command(flatten)]
    common: SubmitCommonArgs,
}

/// The options of `tollgate quote`.
#[derive(Debug, clap::Args)]
#[command(mut_args(hide_unless_quoted))]
pub(crate) struct QuoteArgs {
    /// Reserve the room for this long, as in 60s
    ///
    /// `tollgate submit --quote ID` claims it; an unclaimed quote expires.
    #[arg(long, value_name = "SPAN", value_parser = parse::parse_span, conflicts_with = "to")]
    reserve: Option<f64>,
    #[command(flatten)]
    to: TargetArgs,
    #[command(flatten)]
    common: SubmitCommonArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SubmitCommonArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    pub(crate) address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) format: OutputFormat,
    /// Print only the number of the job
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl SubmitCommonArgs {
    /// Returns the request, and prints notes about values that may mean something else to their user.
    fn request(&self) -> Result<JobRequest, CliFailure> {
        let now = format::now();
        self.note(&now);
        self.job.request(&now)
    }

    /// Prints notes about values that may mean something else to their user.
    fn note(&self, now: &Zoned) {
        let verbosity = Verbosity::from_quiet(self.quiet);
        for note in job_notes::notes(&self.job, now) {
            verbosity.note(note);
        }
    }
}

/// Hides the options of a job that a quote ignores: it is about a single task that may start at once,
/// and runs nothing.
fn hide_unless_quoted(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "array" | "after" | "notify" | "comment" | "env" | "dir" | "output" | "error" | "input"
        | "append" => arg.hide(true),
        _ => arg,
    }
}

/// The path of quotes.
pub(crate) const QUOTES: &str = "/v1/quotes";
/// The path of jobs.
pub(crate) const JOBS: &str = "/v1/jobs";

/// `tollgate submit`.
pub(crate) fn submit(args: &SubmitArgs) -> Result<(), CliFailure> {
    if let Some(quote) = args.quote {
        return claim(&args.common, quote);
    }
    if let Some(job) = args.failed_of {
        return resubmit(&args.common, job);
    }
    let mut common = JobRequest {
        held: args.hold,
        ..args.common.request()?
    };
    if args.to.to.is_empty() {
        args.common.address.add_token_file(&mut common)?;
    }
    match args.batch.jobs(&common)? {
        Some(_) if !args.to.to.is_empty() => Err(ClientCommandError::NotReservable.into()),
        Some(jobs) => batch::submit(&args.common, &common, jobs),
        None if !args.to.to.is_empty() => {
            cluster::submit(&args.to, args.prefer, &common, &args.common)
        }
        None => submit_request(&args.common, JOBS, common),
    }
}

/// `tollgate quote`.
pub(crate) fn quote(args: &QuoteArgs) -> Result<(), CliFailure> {
    let request = JobRequest {
        hold_s: args.reserve,
        levels: args.reserve.is_none(),
        ..args.common.request()?
    };
    if !args.to.to.is_empty() {
        return cluster::quote(&args.to, &request, args.common.format);
    }
    submit_request(&args.common, QUOTES, request)
}

/// Parses the name of a preference.
pub(crate) fn parse_preference(word: &str) -> Result<QuotePreference, &'static str> {
    QuotePreference::from_keyword(word).ok_or("expected earliest, cheapest or surest")
}

fn claim(args: &SubmitCommonArgs, quote: u64) -> Result<(), CliFailure> {
    let mut request = args.request()?;
    args.address.add_token_file(&mut request)?;
    let path = format!("/v1/quotes/{quote}/claim");
    let done: JobRef = args.address.connect()?.post_with_key(&path, &request)?;
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => writeln!(out, "{}", done.id)?,
        (false, OutputFormat::Json) => format::write_json(&mut out, &done)?,
        (false, OutputFormat::Table) => writeln!(out, "job {}: accepted, as quoted", done.id)?,
        (false, OutputFormat::Csv) => return Err(CsvUnsupported.into()),
    }
    Ok(())
}

fn resubmit(args: &SubmitCommonArgs, job: u64) -> Result<(), CliFailure> {
    let others = JobArgs {
        deadline: None,
        ..args.job.clone()
    };
    if others != JobArgs::default() {
        let message =
            format!("has the command and the options of job {job}; expected only --deadline");
        return Err(CliFailure::invalid_flag("failed-of", message));
    }
    let now = format::now();
    args.note(&now);
    let (deadline_s, deadline_at) = match args.job.deadline.as_deref() {
        Some(words) => parse::parse_deadline(words, &now)?,
        None => (None, None),
    };
    let request = ResubmitRequest {
        deadline_s,
        deadline_at,
    };
    let path = format!("{JOBS}/{job}/resubmit");
    let answer = post_request(&mut args.address.connect()?, &path, &request)?;
    write_answer(args, &answer)
}

fn submit_request(
    args: &SubmitCommonArgs,
    path: &str,
    request: JobRequest,
) -> Result<(), CliFailure> {
    let answer = post_request(&mut args.address.connect()?, path, &request)?;
    note_unenforced_limit(&request, &answer);
    write_answer(args, &answer)
}

/// Writes the answer to a submission or a quote. A rejection is an error.
fn write_answer(args: &SubmitCommonArgs, answer: &SubmitResponse) -> Result<(), CliFailure> {
    note_short_stays(answer);
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {
            if let Some(id) = answer.id {
                writeln!(out, "{id}")?;
            }
        }
        (false, OutputFormat::Json) => format::write_json(&mut out, answer)?,
        (false, OutputFormat::Table) => {
            render_answer(&mut out, answer, &number_of(answer), &format::now())?;
        }
        (false, OutputFormat::Csv) => return Err(CsvUnsupported.into()),
    }
    match is_rejected(answer) {
        false => Ok(()),
        true => Err(ClientCommandError::Rejected.into()),
    }
}

/// Prints a note if the policy does not enforce the time limit of a request.
pub(crate) fn note_unenforced_limit(request: &JobRequest, answer: &SubmitResponse) {
    if request.time_limit_s.is_some() && answer.time_limit_s.is_none() {
        let policy = "the policy of this service shares cores between jobs";
        Verbosity::Notes.note(format_args!("{policy}: the time limit is an estimate only"));
    }
}

/// Prints a note if a job was rejected because it may outlast every host, as pilots have an end.
fn note_short_stays(answer: &SubmitResponse) {
    let of_tasks = answer.tasks.iter().flat_map(|part| &part.reasons);
    let mut reasons = answer.reasons.iter().chain(of_tasks);
    if reasons.any(|reason| reason.key == "closes_too_soon") {
        Verbosity::Notes.note(
            "a pilot stays for the `--time` of its site: add the site again with a longer one, or give a \
             smaller `--estimate` or `--time-limit`",
        );
    }
}

/// Requests a decision about a job. Prints a note on standard error if the service's clock differs
/// from this host's: instants are parsed on this host and kept by the service.
pub(crate) fn post_request(
    client: &mut ApiClient,
    path: &str,
    request: &impl Serialize,
) -> Result<SubmitResponse, CliFailure> {
    let sent_at = Timestamp::now();
    let answer: SubmitResponse = client.post_with_key(path, request)?;
    let off = clock::note_on_answer(&answer, sent_at, Timestamp::now());
    off.into_iter().for_each(|off| Verbosity::Notes.note(off));
    Ok(answer)
}
