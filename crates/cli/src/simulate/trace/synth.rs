//! `tollgate trace synth`: synthetic jobs.

use std::num::{NonZeroU32, NonZeroUsize};

use tollgate_trace::ColumnSelection;
use tollgate_workload::{GeneratedMachine, WorkloadGenerator};

use super::error::TraceError;
use super::output;
use crate::args::{parse_count, parse_integer};
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// The maximum number of jobs, which limits memory.
const MAX_JOBS: usize = 10_000_000;

/// The smallest and the largest load. Ten million jobs for one node at the smallest load are spread over
/// 50,000 years, for which a calendar of hours still fits into memory.
const LOADS: std::ops::RangeInclusive<f64> = 0.05..=10.0;

/// Write generated jobs, modelled on the last 5000 of SDSC SP2
///
/// `tollgate replay` uses the same workload by default. The same options give the same jobs on every
/// machine. With --nodes, the widths of the jobs are log-uniform and the arrivals are those of a load;
/// users, estimates and run times stay as they are.
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

    /// Generate jobs for a machine of N nodes [default: SDSC SP2, 128 nodes]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    nodes: Option<NonZeroU32>,

    /// Largest number of nodes of a job [default: all nodes]
    #[arg(
        long, value_name = "N", requires = "nodes",
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    max_width: Option<NonZeroU32>,

    /// Work of all jobs over the machine's capacity, 0.05 to 10
    #[arg(
        long, value_name = "LOAD", requires = "nodes", default_value_t = 0.85,
        value_parser = parse_load, allow_negative_numbers = true,
    )]
    load: f64,

    #[command(flatten)]
    output: output::TraceOutputArgs,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

impl TraceSynthArgs {
    fn machine(&self) -> Result<GeneratedMachine, TraceError> {
        let Some(nodes) = self.nodes.map(NonZeroU32::get) else {
            return Ok(GeneratedMachine::SdscSp2);
        };
        let max_width = self.max_width.map_or(nodes, NonZeroU32::get);
        if max_width > nodes {
            return Err(TraceError::WidthAboveNodes { max_width, nodes });
        }
        Ok(GeneratedMachine::LogUniform {
            nodes,
            max_width,
            load: self.load,
        })
    }
}

pub(super) fn run(args: &TraceSynthArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let target = args.output.target()?;
    let generator = WorkloadGenerator {
        jobs: args.jobs,
        seed: args.seed,
        machine: args.machine()?,
        columns: ColumnSelection::All,
    };
    let mut output = target.open()?;
    output.write(&generator.trace())?;
    output.finish(verbosity)?;
    verbosity.note(format_args!(
        "{} generated, seed {}",
        pluralise(args.jobs, "job"),
        args.seed
    ));
    Ok(())
}

fn parse_load(word: &str) -> Result<f64, String> {
    let load = word.parse().ok().filter(|load| LOADS.contains(load));
    load.ok_or_else(|| format!("expected a number, {} to {}", LOADS.start(), LOADS.end()))
}

fn parse_job_count(word: &str) -> Result<usize, String> {
    parse_count::<NonZeroUsize>(word)
        .map(NonZeroUsize::get)
        .ok()
        .filter(|&jobs| jobs <= MAX_JOBS)
        .ok_or_else(|| format!("expected a whole number, 1 to {MAX_JOBS}"))
}
