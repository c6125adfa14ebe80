//! `tollgate trace synth`: synthetic jobs.

use tollgate_trace::ColumnSelection;
use tollgate_workload::WorkloadGenerator;

use super::output;
use crate::args::{parse_count, parse_integer};
use crate::exit::CliFailure;
use crate::messages::{Verbosity, pluralise};

/// The maximum number of jobs, which limits memory.
const MAX_JOBS: usize = 10_000_000;

/// Write generated jobs, modelled on the last 5000 of SDSC SP2
///
/// `tollgate replay` uses the same workload by default. The same options give the same jobs on every
/// machine.
#[derive(Debug, clap::Args)]
pub(super) struct TraceSynthArgs {
    /// Number of jobs, at most 10 million
    #[arg(
        long, value_name = "N", default_value_t = WorkloadGenerator::default().jobs,
        value_parser = parse_job_count, allow_negative_numbers = true,
    )]
    jobs: usize,

    /// Seed of the generator
    #[arg(
        long, value_name = "N", default_value_t = WorkloadGenerator::default().seed,
        value_parser = parse_integer::<u64>, allow_negative_numbers = true,
    )]
    seed: u64,

    #[command(flatten)]
    output: output::TraceOutputArgs,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &TraceSynthArgs) -> Result<(), CliFailure> {
    let voice = Verbosity::from_quiet(args.quiet);
    let target = args.output.target()?;
    let generator = WorkloadGenerator {
        jobs: args.jobs,
        seed: args.seed,
        columns: ColumnSelection::All,
    };
    let mut output = target.open()?;
    output.write(&generator.trace())?;
    output.finish(voice)?;
    voice.note(format_args!(
        "{} generated, seed {}",
        pluralise(args.jobs, "job"),
        args.seed
    ));
    Ok(())
}

fn parse_job_count(word: &str) -> Result<usize, String> {
    parse_count::<std::num::NonZeroUsize>(word)
        .map(std::num::NonZeroUsize::get)
        .ok()
        .filter(|&jobs| jobs <= MAX_JOBS)
        .ok_or_else(|| format!("expected a whole number, 1 to {MAX_JOBS}"))
}
