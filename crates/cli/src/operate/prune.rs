//! `tollgate prune`: removes jobs that are over.

use std::io::{self, Write};

use tollgate_client::records::{PruneRequest, PruneResult};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::pluralise;
use crate::parse;

/// The options of `tollgate prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Minimum time since the end of a job, as in 90d
    #[arg(long, value_name = "SPAN", value_parser = parse::parse_span)]
    older_than: f64,
    /// Count the jobs and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// `tollgate prune`.
pub(crate) fn run(args: &PruneArgs) -> Result<(), CliFailure> {
    if args.format == OutputFormat::Csv {
        return Err(CsvUnsupported.into());
    }
    let request = PruneRequest {
        older_than_s: args.older_than,
        dry_run: args.dry_run,
    };
    let pruned: PruneResult = args.address.connect()?.post("/v1/prune", &request)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &pruned)?,
        OutputFormat::Table | OutputFormat::Csv => {
            let jobs = pluralise(usize::try_from(pruned.jobs).unwrap_or(usize::MAX), "job");
            let before = format::format_local_time(&pruned.before_at, &format::now());
            match pruned.dry_run {
                true => writeln!(out, "would remove {jobs} that ended before {before}")?,
                false => writeln!(out, "removed {jobs} that ended before {before}")?,
            }
        }
    }
    Ok(())
}
