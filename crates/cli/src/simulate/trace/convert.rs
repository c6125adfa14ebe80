//! `tollgate trace convert`: writes the jobs of traces in another format.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::error::TraceError;
use super::input::{ClockOrigin, each_batch, print_findings};
use super::output;
use crate::args::parse_count;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::simulate::record_filter::RecordFilterArgs;

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

    /// Write only the first N jobs of each record
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    first: Option<NonZeroUsize>,

    #[command(flatten)]
    part: RecordFilterArgs,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &TraceConvertArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let part = args.part.filter();
    let mut output = args.output.target()?.open()?;
    let mut clock = ClockOrigin::default();
    for path in &args.files {
        let mut jobs = 0;
        let header = each_batch(path, |batch| {
            clock.check_same_origin(batch)?;
            if part.is_empty() && args.first.is_none() {
                jobs += batch.jobs.len();
                return output.write(batch);
            }
            let selected = part.select(batch.clone()).map_err(TraceError::from)?;
            let left = args.first.map_or(usize::MAX, |first| first.get() - jobs);
            let selected = selected.first(left);
            jobs += selected.jobs.len();
            output.write(&selected)
        })?;
        print_findings(&header, verbosity);
        verbosity.note(format_args!(
            "{} from {}",
            pluralise(jobs, "job"),
            header.source
        ));
    }
    output.finish(verbosity)
}
