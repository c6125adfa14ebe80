//! `tollgate trace convert`: the jobs of records, in another format.

use std::path::PathBuf;

use super::input::{Clock, each_batch, say_findings};
use super::output;
use crate::exit::Failure;
use crate::voice::{Voice, counted};

/// Write the jobs of records in another format
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records of any known format
    ///
    /// `-` is standard input. The jobs of several records are written one after the other.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: output::Destination,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let voice = Voice::unless(args.quiet);
    let mut output = args.output.target()?.open()?;
    let mut clock = Clock::default();
    for path in &args.files {
        let mut jobs = 0;
        let header = each_batch(path, |batch| {
            clock.agree(batch)?;
            jobs += batch.jobs.len();
            output.write(batch)
        })?;
        say_findings(&header, voice);
        voice.note(format_args!(
            "{} from {}",
            counted(jobs, "job"),
            header.source
        ));
    }
    output.finish(voice)
}
