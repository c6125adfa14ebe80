//! `tollgate jobs`.
//!
//! | module | contents |
//! |---|---|
//! | [`cells`] | a job in a column |
//! | [`columns`] | what is listed of a job |

mod cells;
mod columns;

use std::io;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use tollgate_client::PathWithQuery;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::{JobDetails, JobList, JobState, PromiseSelection, WireVocabulary};

use self::columns::{JobColumn, SortOrder};
use super::array_outlook;
use super::cluster_job::ClusterJob;
use super::job_numbers::parse_cluster_job_id;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::write_list;
use crate::parse::past_instant::parse_past;

/// The options of `tollgate jobs`.
#[derive(Debug, clap::Args)]
pub(crate) struct JobsArgs {
    /// Job, or tasks of an array, to list, as in 7_1-5,9
    #[arg(value_parser = parse_cluster_job_id, conflicts_with_all = ["all", "state", "promise", "name", "id", "user", "account", "queue", "since", "until"])]
    array: Option<ClusterJob>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Include finished jobs
    #[arg(long, short)]
    all: bool,
    /// List only jobs in this state
    #[arg(long, value_name = "STATE", value_parser = job_states())]
    state: Option<JobState>,
    /// List only jobs or tasks that failed
    ///
    /// They exited with another code than 0, were ended by a limit, or are lost. An array counts if a task of
    /// it failed.
    #[arg(long)]
    failed: bool,
    /// List only jobs with this promise
    ///
    /// at_risk: promised, and kept with less than 0.8 by what is known now. none: nothing is promised. An array counts if a
    /// task of it does.
    #[arg(long, value_name = "PROMISE", value_parser = job_promises())]
    promise: Option<PromiseSelection>,
    /// List only jobs of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// List only these jobs and tasks, as in 7,8_3
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = parse_listed_id)]
    id: Vec<String>,
    /// List only jobs of this user, by name or number
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// List only jobs of this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// List only jobs of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// List only jobs that are open, or ended since this time
    ///
    /// As in 2026-12-01, `2026-12-01 09:00` or 09:00; a day means its start.
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    since: Option<Timestamp>,
    /// List only jobs that were submitted before this time
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    until: Option<Timestamp>,
    /// Show when each should start and end, and why it waits
    #[arg(long)]
    expect: bool,
    /// Show at most N jobs
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_JOBS)))]
    limit: u32,
    /// Columns of the table, or of CSV
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', value_parser = JobColumn::parser(),
          conflicts_with = "quiet")]
    columns: Vec<&'static JobColumn>,
    /// Sort the listed jobs by this column; `-COLUMN` descending
    #[arg(long, value_name = "[-]COLUMN", allow_hyphen_values = true, value_parser = SortOrder::parse)]
    sort: Option<SortOrder>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, conflicts_with = "quiet")]
    format: OutputFormat,
    /// Print only the numbers
    #[arg(long, short)]
    quiet: bool,
}

/// Parses the number of a job, or of one task of an array: `7`, `7_3`.
fn parse_listed_id(words: &str) -> Result<String, String> {
    let (job, task) = words.split_once('_').unwrap_or((words, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match is_number(job) && is_number(task) {
        true => Ok(words.to_owned()),
        false => Err("expected the number of a job or task, as in 7 or 7_3".to_owned()),
    }
}

/// Parses the key of a job's state; the error and `--help` list all of them.
fn job_states() -> impl TypedValueParser<Value = JobState> {
    let keys = PossibleValuesParser::new(JobState::ALL.iter().map(|state| state.key()));
    keys.try_map(|key| JobState::from_key(&key).ok_or("expected a state"))
}

/// Parses the key of a promise.
fn job_promises() -> impl TypedValueParser<Value = PromiseSelection> {
    let keys = PossibleValuesParser::new(PromiseSelection::ALL.iter().map(|one| one.key()));
    keys.try_map(|key| PromiseSelection::from_key(&key).ok_or("expected a promise"))
}

/// `tollgate jobs`.
pub(crate) fn jobs(args: &JobsArgs) -> Result<(), CliFailure> {
    if args.format == OutputFormat::Json && !args.columns.is_empty() {
        let message = "JSON has every field; expected `--format table` or `csv`";
        return Err(CliFailure::invalid_flag("columns", message));
    }
    let mut listed = request(args)?;
    if let Some(order) = args.sort {
        order.sort(&mut listed.jobs);
    }
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => columns::write_numbers(&mut out, &listed.jobs)?,
        (false, OutputFormat::Json) => format::write_json(&mut out, &listed)?,
        (false, OutputFormat::Table) => render(&mut out, &listed.jobs, &args.columns)?,
        (false, OutputFormat::Csv) => columns::write_csv(&mut out, &listed.jobs, &args.columns)?,
    }
    if let Some(array) = &listed.array
        && args.format == OutputFormat::Table
        && !args.quiet
        && args
            .array
            .as_ref()
            .is_some_and(|named| named.job == array.id.to_string())
    {
        array_outlook::render(&mut out, array, &format::now())?;
    }
    if listed.more {
        let (which, what) = match args.array {
            Some(_) => ("first", "tasks"),
            None => ("latest", "jobs"),
        };
        let limit = args.limit;
        Verbosity::Notes.note(format_args!(
            "these are the {which} {limit} {what}, and there are more: `--limit N` lists up to {MAX_JOBS}"
        ));
    }
    Ok(())
}

fn request(args: &JobsArgs) -> Result<JobList, CliFailure> {
    let (path, address) = match &args.array {
        Some(array) => (
            PathWithQuery::new(format!("/v1/jobs/{}/tasks", array.job)),
            array.address(&args.address)?,
        ),
        None => {
            // Failed and ended jobs are over, so they are of all jobs.
            let names_ended = args.state.is_some() || args.since.is_some() || !args.id.is_empty();
            let ends = args.promise.is_some_and(is_of_ended_jobs);
            let live = !args.all && !args.failed && !names_ended && !ends;
            let ids = Some(args.id.join(",")).filter(|ids| !ids.is_empty());
            let path = PathWithQuery::new("/v1/jobs")
                .with("live", live)
                .with_some("ids", ids)
                .with_some("name", args.name.as_ref())
                .with_some("user", args.user.as_ref())
                .with_some("account", args.account.as_ref())
                .with_some("queue", args.queue.as_ref())
                .with_some("since", args.since)
                .with_some("until", args.until);
            (path, args.address.clone())
        }
    };
    let mut shown = args
        .columns
        .iter()
        .copied()
        .chain(args.sort.map(SortOrder::column));
    let expects = args.expect || shown.any(JobColumn::is_expecting);
    let path = path
        .with("limit", args.limit)
        .with_some("state", args.state.map(WireVocabulary::key))
        .with_some("failed", args.failed.then_some(true))
        .with_some("promise", args.promise.map(WireVocabulary::key))
        .with_some("expect", expects.then_some(true));
    Ok(address.connect()?.get(&path.to_string())?)
}

/// Returns whether a promise is one that is usual of jobs that are over.
const fn is_of_ended_jobs(promise: PromiseSelection) -> bool {
    match promise {
        PromiseSelection::Kept | PromiseSelection::Broken | PromiseSelection::Void => true,
        PromiseSelection::AtRisk | PromiseSelection::None => false,
    }
}

fn render(
    out: &mut impl io::Write,
    jobs: &[JobDetails],
    columns: &[&'static JobColumn],
) -> io::Result<()> {
    let usual;
    let columns = if columns.is_empty() {
        usual = JobColumn::usual_of(jobs);
        &usual
    } else {
        columns
    };
    let now = format::now();
    let columns: Vec<_> = columns.iter().map(|column| column.shown(&now)).collect();
    write_list(out, &columns, jobs)
}
