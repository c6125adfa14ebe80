//! `tollgate cancel`, `hold`, `release`, `wait` and `logs`.

use std::fs::File;
use std::io::{self, Write};

use tollgate_service::api::types::{Done, Job};

use super::address::Address;
use super::error::LiveError;
use super::print;
use crate::args::Format;
use crate::exit::{Failure, NoCsv};

/// Which job is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The number of the job
    id: u64,
    #[command(flatten)]
    address: Address,
}

/// Wait until a job is over; ends as the job did: its exit code, 128 + n after signal n, 1 if it
/// was rejected, cancelled or lost.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    job: Args,
    /// Only until it is let in or kept out
    #[arg(long)]
    decision: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

/// `tollgate cancel`, `hold`, `release`.
pub(crate) fn act(args: &Args, verb: &str) -> Result<(), Failure> {
    let path = format!("/v1/jobs/{}/{verb}", args.id);
    let _: Done = args.address.connect()?.post(&path, &())?;
    Ok(())
}

/// `tollgate wait`.
pub(crate) fn wait(args: &WaitArgs) -> Result<(), Failure> {
    let decision = args.decision;
    let path = format!("/v1/jobs/{}/wait?decision={decision}", args.job.id);
    let job: Job = args.job.address.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {}
        (false, Format::Json) => print::json(&mut out, &job)?,
        (false, Format::Csv) => return Err(NoCsv.into()),
        (false, Format::Table) => {
            let status = job.status.as_deref().unwrap_or("");
            writeln!(out, "job {}: {} {status}", job.id, job.state)?;
        }
    }
    let kept_out = matches!(job.state.as_str(), "rejected" | "cancelled" | "lost");
    match job.exit_code {
        _ if kept_out => Err(LiveError::JobStatus(1).into()),
        Some(code) if code != 0 && job.state == "finished" => {
            Err(LiveError::JobStatus(code).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// `tollgate logs`: the file is read as the user who asks.
pub(crate) fn logs(args: &Args) -> Result<(), Failure> {
    let job: Job = args
        .address
        .connect()?
        .get(&format!("/v1/jobs/{}", args.id))?;
    let Some(file) = job.output else {
        return Err(LiveError::NoOutput { id: args.id }.into());
    };
    if args.address.is_elsewhere()? {
        return Err(LiveError::OutputElsewhere { file }.into());
    }
    let mut log = File::open(&file).map_err(|error| Failure::read(file.clone(), error))?;
    io::copy(&mut log, &mut io::stdout().lock())?;
    Ok(())
}
