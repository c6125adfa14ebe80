//! `tollgate beside replay`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use tollgate_policy::PolicyRegistry;

use super::error::file_error;
use super::jobs::{self, EndedJobs};
use super::record;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::simulate::replay::shadow::ShadowPolicies;

/// State the jobs of a record anew, one statement a line.
///
/// The statements are those that the follower made when it wrote the record, byte for byte. With --shadow the
/// answer is what these policies would have promised and kept on the jobs of the record that are over.
#[derive(Debug, clap::Args)]
pub(super) struct BesideReplayArgs {
    /// Directory of one run of the follower, below that of --record
    ///
    /// With --shadow it may be that of --record, for all runs.
    #[arg(value_name = "DIR")]
    record: PathBuf,
    /// Policies to try on ended jobs, as a list or repeated
    ///
    /// The jobs have no deadlines: they get those that their users could set, by the model `habit`.
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    shadow: Vec<String>,
    /// Output format of --shadow [default: table]
    #[arg(long, value_enum, requires = "shadow")]
    format: Option<OutputFormat>,
}

/// `tollgate beside replay`.
pub(super) fn run(args: &BesideReplayArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    if !args.shadow.is_empty() {
        return replay_policies(args, registry);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    record::replay(&args.record, |statements| {
        record::write_statements(&mut out, statements)
    })?;
    let flushed = out.flush();
    Ok(flushed.map_err(|error| file_error("standard output", error))?)
}

fn replay_policies(args: &BesideReplayArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let format = args.format.unwrap_or(OutputFormat::Table);
    let policies = ShadowPolicies::new(&args.shadow, registry, format)?;
    let mut jobs = EndedJobs::default();
    for run in jobs::runs(&args.record)? {
        jobs.read(&run)?;
    }
    let results = policies.run(jobs.trace())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = results.write(&mut out).and_then(|()| out.flush());
    Ok(written.map_err(|error| file_error("standard output", error))?)
}
