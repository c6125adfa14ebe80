//! `tollgate status`, `jobs`, `explain` and `ledger`.

use std::io::{self, Write};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use comfy_table::{LineStyle, Table, TableStyle};
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{
    JobDetails, JobExplanation, JobList, JobState, LedgerReport, ServiceObjectives, ServiceStatus,
};

use super::cluster::ClusterJob;
use super::endpoint::ServiceAddressArgs;
use super::error::ClientCommandError;
use super::figures::{self, StatusView};
use super::{format, outcome, parse, site};
use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};

pub(super) const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The word in the place of a job that means a site.
pub(super) const SITE_WORD: &str = "site";
/// Maximum number of characters of a name in a table.
const MAX_NAME: usize = 20;

/// The options of `tollgate status`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The options of `tollgate jobs`.
#[derive(Debug, clap::Args)]
pub(crate) struct JobsArgs {
    /// Array whose tasks to list, as in 7 or 7_1-5,9
    #[arg(value_parser = parse::parse_cluster_job_id, conflicts_with_all = ["all", "state"])]
    array: Option<ClusterJob>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Include finished jobs
    #[arg(long, short)]
    all: bool,
    /// List only jobs in this state
    #[arg(long, value_name = "STATE", value_parser = job_states())]
    state: Option<JobState>,
    /// Show at most N jobs
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_JOBS)))]
    limit: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Print only the numbers
    #[arg(long, short)]
    quiet: bool,
}

/// Parses the key of a job's state; the error and `--help` list all of them.
fn job_states() -> impl TypedValueParser<Value = JobState> {
    let keys = PossibleValuesParser::new(JobState::ALL.map(JobState::key));
    keys.map(|key| JobState::from_key(&key).unwrap_or(JobState::Unknown))
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
            if let (Some(from), Some(until)) =
                (&status.maintenance_from_at, &status.maintenance_until_at)
            {
                let [from, until] = [from, until].map(|at| format::format_local_time(at, &now));
                writeln!(out, "  no jobs {from} to {until} (maintenance)")?;
            }
            figures::render_objectives(&mut out, &standing.objectives)?;
            if let Some(shadow) = &status.shadow {
                figures::render_shadow(&mut out, &status.policy, shadow, &now)?;
            }
        }
    }
    Ok(())
}

/// `tollgate jobs`.
pub(crate) fn jobs(args: &JobsArgs) -> Result<(), CliFailure> {
    let live = !args.all && args.state.is_none();
    let mut path = format!("/v1/jobs?live={live}&limit={}", args.limit);
    if let Some(state) = &args.state {
        path.push_str(&format!("&state={}", state.key()));
    }
    let mut address = args.address.clone();
    if let Some(array) = &args.array {
        path = format!("/v1/jobs/{}/tasks?limit={}", array.job, args.limit);
        address = array.address(&address)?;
    }
    let listed: JobList = address.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {
            for job in &listed.jobs {
                writeln!(out, "{}", format::format_job_id(job))?;
            }
        }
        (false, OutputFormat::Json) => format::write_json(&mut out, &listed)?,
        (false, OutputFormat::Table) => render_jobs(&mut out, &listed.jobs)?,
        (false, OutputFormat::Csv) => write_csv(out, &listed.jobs)?,
    }
    Ok(())
}

fn render_jobs(out: &mut impl Write, jobs: &[JobDetails]) -> io::Result<()> {
    let now = format::now();
    let local = |at: &Option<String>| {
        at.as_ref()
            .map_or_else(String::new, |at| format::format_short_time(at, &now))
    };
    // Users and hosts are in the table where they tell jobs apart.
    let own = rustix::process::geteuid().as_raw();
    let of_others = jobs.iter().any(|job| job.user_id != own);
    let first_host = jobs.iter().find_map(|job| job.host.as_ref());
    let on_others = |job: &JobDetails| job.host.is_some() && job.host.as_ref() != first_host;
    let on_others = jobs.iter().any(on_others);
    let deadline = format!("deadline {}", now.strftime("%Z"));
    let columns = [
        ("id", true),
        ("user", of_others),
        ("name", true),
        ("state", true),
        ("procs", true),
        (deadline.as_str(), true),
        ("started", true),
        ("ended", true),
        ("host", on_others),
        ("promise", true),
    ];
    let wanted = |cells: Vec<String>| {
        let cells = cells.into_iter().zip(columns);
        let cells = cells.filter(|(_, (_, wanted))| *wanted);
        cells.map(|(cell, _)| cell).collect::<Vec<_>>()
    };
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(wanted(columns.map(|(name, _)| name.to_owned()).to_vec()));
    for job in jobs {
        let state = match job.short_status() {
            _ if job.array.is_some() => array_state(job),
            // A status such as `lost (worker disconnected)` already includes the state.
            Some(status) if status.starts_with(format::state_word(job)) => status.to_owned(),
            Some(status) if job.finished_at.is_some() => format!("{}, {status}", job.state),
            Some(_) | None => job.state.to_string(),
        };
        table.add_row(wanted(vec![
            format::format_job_id(job),
            job.user.clone(),
            format::shorten(&job.name, MAX_NAME),
            state,
            job.procs.to_string(),
            local(&job.deadline_at),
            local(&job.started_at),
            local(&job.finished_at),
            job.host.clone().unwrap_or_default(),
            promise_cell(job),
        ]));
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Formats how the promise has ended: `kept`, `late`, `broken` or `void`; of an array `3 kept, 1 void`.
fn promise_cell(job: &JobDetails) -> String {
    if let Some(array) = &job.array {
        let counts = [
            (array.kept, "kept"),
            (array.broken, "broken"),
            (array.void, "void"),
            (array.unpromised, "unpromised"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> = some
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        return some.join(", ");
    }
    let instant = |at: &Option<String>| at.as_ref().and_then(|at| parse_iso(at).ok());
    let due = instant(&job.deadline_at);
    let is_late = due.is_some_and(|due| instant(&job.finished_at).is_none_or(|at| at > due));
    match job.promise.as_deref() {
        Some("broken") if is_late => "late".to_owned(),
        promise => promise.unwrap_or_default().to_owned(),
    }
}

/// Formats the state of an array: `running: 640 finished, 16 running, 344 queued of 1000`, or
/// `finished, exit 0: all 1000` if all tasks are in that state.
fn array_state(job: &JobDetails) -> String {
    let Some(array) = &job.array else {
        return job.state.to_string();
    };
    let counts = [
        (array.finished, JobState::Finished),
        (array.timed_out, JobState::TimedOut),
        (array.out_of_memory, JobState::OutOfMemory),
        (array.output_limit, JobState::OutputLimit),
        (array.running, JobState::Running),
        (array.queued, JobState::Queued),
        (array.held, JobState::Held),
        (array.cancelled, JobState::Cancelled),
        (array.lost, JobState::Lost),
        (array.rejected, JobState::Rejected),
    ];
    let all: u64 = counts.iter().map(|(count, _)| count).sum();
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let status = job.status.as_ref().map(|status| format!(", {status}"));
    let status = status.unwrap_or_default();
    let is_uniform = counts
        .iter()
        .any(|(count, state)| *count == all && *state == job.state);
    if is_uniform {
        return format!("{}{status}: all {all}", job.state);
    }
    format!("{}{status}: {} of {all}", job.state, some.join(", "))
}

fn write_csv(out: impl Write, jobs: &[JobDetails]) -> Result<(), CliFailure> {
    let mut rows = csv::Writer::from_writer(out);
    let mut write = || -> Result<(), csv::Error> {
        rows.write_record([
            "id",
            "user_id",
            "name",
            "state",
            "procs",
            "submitted_at",
            "deadline_at",
            "started_at",
            "finished_at",
            "probability",
            "price",
            "status",
            "promise",
            "user",
            "account",
            "host",
            "estimate_s",
            "run_s",
            "cpu_s",
            "peak_memory_bytes",
        ])?;
        for job in jobs {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            rows.write_record([
                format::format_job_id(job),
                job.user_id.to_string(),
                job.name.clone(),
                job.state.key().to_owned(),
                job.procs.to_string(),
                job.submitted_at.clone(),
                text(&job.deadline_at),
                text(&job.started_at),
                text(&job.finished_at),
                number(job.probability),
                number(job.price),
                text(&job.status),
                text(&job.promise),
                job.user.clone(),
                text(&job.account),
                text(&job.host),
                job.estimate_s.to_string(),
                number(job.run_s),
                number(job.cpu_s),
                job.peak_memory_bytes
                    .map_or_else(String::new, |bytes| bytes.to_string()),
            ])?;
        }
        rows.flush()?;
        Ok(())
    };
    write().map_err(|error| io::Error::from(error).into())
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
            writeln!(out, "job {}: {state}", args.id)?;
            for words in &explained.words {
                writeln!(out, "  {words}")?;
            }
            outcome::render(&mut out, &explained.job, &now)?;
            if let Some(expected) = &explained.expected {
                let at = |words: &str| format::format_local_time(words, &now);
                writeln!(out, "  start     {}", at(&expected.expected_start_at))?;
                writeln!(
                    out,
                    "  finish    {} (8 in 10 finish between {} and {})",
                    at(&expected.expected_finish_at),
                    at(&expected.earliest_finish_at),
                    at(&expected.latest_finish_at)
                )?;
                if let Some(sure) = expected.probability {
                    let sure = format::format_probability(sure);
                    writeln!(out, "  deadline  kept with probability {sure}")?;
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
            let mut table = Table::new();
            table.load_style(STYLE);
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
            for line in table.lines() {
                writeln!(out, "{}", line.trim_end())?;
            }
        }
    }
    Ok(())
}
