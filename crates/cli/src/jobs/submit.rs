//! `tollgate submit` and `tollgate quote`.

use std::io::{self, Write};

use clap::Arg;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use tollgate_client::ApiClient;
use tollgate_client::types::{
    JobDecision, JobOffer, JobRef, JobRequest, ReasonMessage, ResubmitRequest, SubmitResponse,
    TaskRangeDecision,
};
use tollgate_policies::cluster_choice::QuotePreference;
use tollgate_policy::ParameterEnum;

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
        "array" | "after" | "notify" | "env" | "dir" | "output" | "append" => arg.hide(true),
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
    let mut preference = QuotePreference::default();
    match QuotePreference::read(&mut preference, word) {
        true => Ok(preference),
        false => Err("expected earliest, cheapest or surest"),
    }
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

/// Returns whether a job or a task of it is rejected.
pub(crate) fn is_rejected(answer: &SubmitResponse) -> bool {
    let of_tasks = answer.tasks.iter().map(|part| part.decision);
    let mut decisions = of_tasks.chain(std::iter::once(answer.decision));
    decisions.any(|decision| decision == JobDecision::Rejected)
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
    let asked = Timestamp::now();
    let answer: SubmitResponse = client.post_with_key(path, request)?;
    let off = clock::note_on_answer(&answer, asked, Timestamp::now());
    off.into_iter().for_each(|off| Verbosity::Notes.note(off));
    Ok(answer)
}

/// Returns the number of a job or a reserved quote; empty without one.
pub(crate) fn number_of(answer: &SubmitResponse) -> String {
    answer.id.map_or_else(String::new, |id| id.to_string())
}

/// Writes an answer about the job that commands name with `number`.
pub(crate) fn render_answer(
    out: &mut impl Write,
    answer: &SubmitResponse,
    number: &str,
    now: &Zoned,
) -> io::Result<()> {
    let job = match (answer.id, &answer.held_until_at) {
        (Some(_), None) => format!("job {number}"),
        (Some(_), Some(_)) => format!("quote {number}"),
        (None, _) => "quote".to_owned(),
    };
    if answer.tasks.is_empty() {
        match unpromised_chance(answer, now) {
            Some(chance) => writeln!(out, "{job}: not promised: {chance}")?,
            None => render_decision(out, &job, answer.decision, &answer.reasons)?,
        }
    }
    // Whoever reads one line reads of the tasks that will not run.
    let mut parts: Vec<&TaskRangeDecision> = answer.tasks.iter().collect();
    parts.sort_by_key(|part| part.decision != JobDecision::Rejected);
    for part in &parts {
        let tasks = format!("{job}: tasks {}", part.tasks);
        render_decision(out, &tasks, part.decision, &part.reasons)?;
    }
    let n_tasks: u64 = parts.iter().map(|part| part.count).sum();
    let is_partial = parts
        .iter()
        .any(|part| part.decision == JobDecision::Accepted);
    match answer.promisable_tasks.filter(|_| !is_partial) {
        Some(0) => writeln!(out, "  partial   no task could be promised now")?,
        Some(n) => writeln!(
            out,
            "  partial   {n} of {n_tasks} tasks could be promised now, with --partial"
        )?,
        None => {}
    }
    if let Some(at) = answer
        .deadline_at
        .as_ref()
        .filter(|_| !is_unpromised(answer))
    {
        let sure = answer.expected.as_ref().and_then(|e| e.probability);
        let sure = sure.map_or_else(String::new, |p| {
            format!(", kept with probability {}", format::format_probability(p))
        });
        writeln!(
            out,
            "  deadline  {}{sure}",
            format::format_local_time(at, now)
        )?;
    }
    if let Some(at) = &answer.begin_at {
        let at = format::format_local_time(at, now);
        writeln!(
            out,
            "  begin     {at}: decided about then, and not started before"
        )?;
    }
    if let Some(at) = &answer.decided_by_at {
        let at = format::format_local_time(at, now);
        writeln!(
            out,
            "  decision  by {at}: promised if room is made in time, else rejected"
        )?;
    }
    let source = match answer.estimate_source.as_str() {
        "user" => "as given",
        "class" => "by the forecast for such jobs",
        "user_jobs" => "as for your other jobs: no such job has ended yet",
        "site" => "as for other jobs here: none of yours has ended yet",
        _ => "the configured default: no such job has ended yet",
    };
    let estimate = format::format_span(answer.estimate_s);
    writeln!(out, "  estimate  {estimate}, {source}")?;
    if let Some(expected) = &answer.expected {
        let at = |words: &str| format::format_local_time(words, now);
        let start = match answer.decision == JobDecision::Accepted {
            true => at(&expected.expected_start_at),
            false => format::format_waiting_start(expected, now),
        };
        writeln!(out, "  start     {start}")?;
        let finish = at(&expected.expected_finish_at);
        match parts.as_slice() {
            [all] if all.count > 1 && all.decision == JobDecision::Accepted => {
                writeln!(out, "  finish    all {} by {finish}", all.count)?
            }
            _ => writeln!(out, "  finish    {finish}")?,
        }
        let ends = [&expected.earliest_finish_at, &expected.latest_finish_at].map(|end| at(end));
        if ends[0] != ends[1] {
            writeln!(
                out,
                "            8 in 10 between {} and {}",
                ends[0], ends[1]
            )?;
        }
        writeln!(out, "            forecast from {}", answer.forecast_from)?;
    }
    for offer in answer
        .offers
        .iter()
        .filter(|offer| offer.change != "confidence")
    {
        writeln!(out, "  instead   {}", render_offer(offer, now))?;
    }
    if let (Some(until), Some(id)) = (&answer.held_until_at, answer.id) {
        let until = format::format_local_time(until, now);
        writeln!(
            out,
            "  reserved  until {until}: `tollgate submit --quote {id} -- ..`"
        )?;
    }
    if let Some(price) = answer.price.filter(|&price| price > 0.0) {
        writeln!(out, "  price     {price} credits")?;
    }
    for offer in answer
        .offers
        .iter()
        .filter(|offer| offer.change == "confidence")
    {
        writeln!(out, "  surer     {}", render_offer(offer, now))?;
    }
    Ok(())
}

/// Writes what a rejected job would get now.
pub(crate) fn render_quote_of_rejected(
    out: &mut impl Write,
    quote: &SubmitResponse,
    now: &Zoned,
) -> io::Result<()> {
    if !is_rejected(quote) {
        let deadline = quote.deadline_at.as_ref().map(|at| {
            let at = format::format_local_time(at, now);
            format!(" with a deadline of {at}")
        });
        let deadline = deadline.unwrap_or_default();
        writeln!(
            out,
            "  now       the same job would not be rejected{deadline}"
        )?;
    }
    for offer in &quote.offers {
        writeln!(
            out,
            "  now       accepted with {}",
            render_offer(offer, now)
        )?;
    }
    Ok(())
}

/// Returns whether nothing of the answer is promised, and the job runs all the same.
fn is_unpromised(answer: &SubmitResponse) -> bool {
    answer.decision == JobDecision::Unpromised
}

/// Returns the chance of a job without a promise: `0.42 by 17:00`.
fn unpromised_chance(answer: &SubmitResponse, now: &Zoned) -> Option<String> {
    let deadline = answer
        .deadline_at
        .as_ref()
        .filter(|_| is_unpromised(answer))?;
    let chance = answer.expected.as_ref()?.probability?;
    let by = format::format_local_time(deadline, now);
    Some(format!("{} by {by}", format::format_probability(chance)))
}

pub(crate) fn render_decision(
    out: &mut impl Write,
    what: &str,
    decision: JobDecision,
    reasons: &[ReasonMessage],
) -> io::Result<()> {
    match decision {
        JobDecision::Accepted => writeln!(out, "{what}: accepted"),
        JobDecision::Queued => writeln!(out, "{what}: queued; it is admitted at its start"),
        JobDecision::Waitlisted => writeln!(out, "{what}: waitlisted: no promise is possible yet"),
        JobDecision::Unpromised => {
            for reason in reasons {
                writeln!(
                    out,
                    "{what}: not promised, runs where it can: {}",
                    reason.text
                )?;
            }
            Ok(())
        }
        JobDecision::Deferred => writeln!(
            out,
            "{what}: deferred; it is decided about when it may start"
        ),
        JobDecision::Rejected => {
            for reason in reasons {
                writeln!(out, "{what}: rejected: {}", reason.text)?;
            }
            Ok(())
        }
    }
}

/// Describes an acceptable offer:
/// `a deadline of 17:00, kept with probability 0.93, for 12 credits`.
fn render_offer(offer: &JobOffer, now: &Zoned) -> String {
    let mut words = match (offer.change.as_str(), &offer.deadline_at, offer.budget) {
        ("deadline", Some(at), _) => {
            format!("a deadline of {}", format::format_local_time(at, now))
        }
        ("budget", _, Some(budget)) => format!("a budget of {budget} credits"),
        ("confidence", ..) => {
            let confidence = offer.confidence.unwrap_or_default();
            format!("--confidence {confidence}")
        }
        _ => format!("{} processors", offer.procs),
    };
    if let Some(probability) = offer.probability {
        let probability = format::format_probability(probability);
        words.push_str(&format!(", kept with probability {probability}"));
    }
    if let Some(price) = offer.price.filter(|&price| price > 0.0) {
        words.push_str(&format!(", for {price} credits"));
    }
    words
}
