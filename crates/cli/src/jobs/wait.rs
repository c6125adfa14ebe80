//! `tollgate wait`.

use std::io::{self, Write};

use tollgate_client::ApiClient;
use tollgate_client::types::{JobDetails, JobEvent};

use super::array_outlook;
use super::cluster_job::ClusterJob;
use super::job_numbers::parse_cluster_job_id;
use super::logs::is_over;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::connection::reconnect::ClientPurpose;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;

/// The options of `tollgate wait`.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// Numbers of jobs, or of a task, as in 7_3
    ///
    /// north:7 is a job of the cluster `north`.
    #[arg(value_name = "ID", value_parser = parse_cluster_job_id, required = true)]
    ids: Vec<ClusterJob>,
    /// Wait only until the job is admitted or rejected
    #[arg(long)]
    decision: bool,
    /// Print what happens to the job meanwhile
    #[arg(long, short, conflicts_with_all = ["decision", "quiet", "format"])]
    follow: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

/// `tollgate wait`.
pub(crate) fn wait(args: &WaitArgs) -> Result<(), CliFailure> {
    let mut worst = 0;
    for named in &args.ids {
        let address = named.address(&args.address)?;
        let mut client = address.connect_for(ClientPurpose::JobEnd)?;
        let (id, prefix) = (&named.job, named.prefix());
        if args.follow {
            print_outlook(&mut client, id)?;
            follow(&mut client, id, &prefix)?;
        }
        let decision = args.decision;
        let job: JobDetails = client.get(&format!("/v1/jobs/{id}/wait?decision={decision}"))?;
        if !args.quiet {
            print_end(&job, &prefix, args.format)?;
        }
        worst = worst.max(job.wait_code());
    }
    match worst {
        0 => Ok(()),
        status => Err(ClientCommandError::JobStatus(status).into()),
    }
}

/// Prints when the last task of an array that is not over should end.
fn print_outlook(client: &mut ApiClient, id: &str) -> Result<(), CliFailure> {
    let job: JobDetails = client.get(&format!("/v1/jobs/{id}"))?;
    array_outlook::render(&mut io::stdout().lock(), &job, &format::now())?;
    Ok(())
}

/// Prints the events of a job until it is over.
fn follow(client: &mut ApiClient, id: &str, prefix: &str) -> Result<(), CliFailure> {
    let whole = id.split_once('_').map_or(id, |(job, _)| job);
    loop {
        let mut failed = None;
        client.stream(&format!("/v1/jobs/{whole}/events"), |name, data| {
            if let Err(error) = print_event(name, data, prefix) {
                failed.get_or_insert(error);
            }
        })?;
        failed.map_or(Ok(()), Err)?;
        // A service that is stopped ends its streams, and its jobs go on.
        if is_over(&client.get(&format!("/v1/jobs/{whole}"))?) {
            return Ok(());
        }
    }
}

fn print_event(name: &str, data: &str, prefix: &str) -> io::Result<()> {
    let now = format::now();
    let mut out = io::stdout().lock();
    if let Ok(event) = serde_json::from_str::<JobEvent>(data) {
        let at = format::format_local_time(&event.at, &now);
        let tasks = event.tasks.map(|tasks| format!("_{tasks}"));
        let tasks = tasks.unwrap_or_default();
        return writeln!(out, "{at}  job {prefix}{}{tasks}: {name}", event.job);
    }
    if let Ok(job) = serde_json::from_str::<JobDetails>(data) {
        let now_at = now.strftime("%H:%M:%S %Z");
        return writeln!(out, "{now_at}  job {prefix}{}: {}", job.id, job.state);
    }
    Ok(())
}

fn print_end(
    job: &JobDetails,
    prefix: &str,
    output_format: OutputFormat,
) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    match output_format {
        OutputFormat::Json => format::write_json(&mut out, job)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let status = job.short_status().unwrap_or("");
            // A status such as `lost (worker disconnected)` already includes the state.
            let end = match status.starts_with(format::state_word(job)) {
                true => status.to_owned(),
                false => format!("{} {status}", job.state),
            };
            let id = format::format_job_id(job);
            writeln!(out, "job {prefix}{id}: {}", end.trim_end())?;
            let failures = job.array.iter().flat_map(|array| &array.failures);
            for failed in failures {
                writeln!(out, "  failed, {failed}")?;
            }
        }
    }
    Ok(())
}
