//! `tollgate trace convert`: writes the jobs of traces in another format.

use std::path::PathBuf;

use super::input::{ClockOrigin, each_batch, print_findings};
use super::output;
use crate::exit::CliFailure;
use crate::messages::{Verbosity, pluralise};

/// Write the jobs of records in another format
#[derive(Debug, clap::Args)]
pub(super) struct TraceConvertArgs {
    /// Records of any known format
    ///
    /// `-` is standard input. The jobs of several records are written one after the other.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: output::TraceOutputArgs,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &TraceConvertArgs) -> Result<(), CliFailure> {
    let voice = Verbosity::from_quiet(args.quiet);
    let mut output = args.output.target()?.open()?;
    let mut clock = ClockOrigin::default();
    for path in &args.files {
        let mut jobs = 0;
        let header = each_batch(path, |batch| {
            clock.check_same_origin(batch)?;
            jobs += batch.jobs.len();
            output.write(batch)
        })?;
        print_findings(&header, voice);
        voice.note(format_args!(
            "{} from {}",
            pluralise(jobs, "job"),
            header.source
        ));
    }
    output.finish(voice)
}
