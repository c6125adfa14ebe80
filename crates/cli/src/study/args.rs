//! The flags as they are typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use clap::ValueEnum;
use tollgate_study::Changes;

use super::report::Weighing;
use crate::args::{Format, count};

/// Run an experiment and leave its results, its ledger of claims and its file in a folder
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) what: What,

    /// Where the results go [default: a folder with the name of the experiment]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Go on with what an earlier run, or chunks, left in the folder
    #[arg(long)]
    pub(super) resume: bool,

    /// Run this many threads [default: as many as there are processors]
    #[arg(
        long, value_name = "N",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    threads: Option<NonZeroUsize>,

    /// Where it runs
    #[arg(long, value_enum, default_value = "local", value_name = "ENGINE")]
    pub(super) on: Engine,

    /// How many elements the job array of a batch system has
    #[arg(
        long, value_name = "N", default_value = "16",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) chunks: NonZeroUsize,

    /// Print the script for the batch system and hand in nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) weights: Weighing,

    /// Fail if a claim that is expected to hold does not
    #[arg(long)]
    pub(super) strict: bool,

    /// How the ledger of claims is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Say nothing about the run, only what goes wrong
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Run one chunk of an experiment, for `study run --resume` to gather: what an element of a
/// batch system's job array does
#[derive(Debug, clap::Args)]
pub(super) struct Chunk {
    /// Which chunk of how many, from 1
    #[arg(value_name = "K/N")]
    pub(super) chunk: tollgate_study::Chunk,

    #[command(flatten)]
    pub(super) what: What,

    /// The folder that all chunks share [default: one with the name of the experiment]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Run this many threads
    #[arg(
        long, value_name = "N", default_value = "1",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: NonZeroUsize,
}

/// Which experiment, and what is changed about it.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct What {
    /// An experiment that `tollgate study list` names, or a file
    #[arg(value_name = "NAME-or-FILE")]
    pub(super) study: String,

    /// The record of jobs [default: what the experiment says, else a generated workload]
    #[arg(long, value_name = "FILE")]
    pub(super) workload: Option<String>,

    /// Repeat every run with this many seeds [default: what the experiment says]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seeds: Option<u64>,

    /// Multiply the size of each run (jobs, or what the world has instead), to try an experiment out
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub(super) scale: Option<f64>,
}

/// Where a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// Here.
    Local,
    /// As a job array of Slurm, gathered here.
    Slurm,
}

impl Run {
    pub(super) fn threads(&self) -> NonZeroUsize {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(processors)
    }
}

impl What {
    pub(super) fn changes(&self) -> Changes {
        Changes {
            seeds: self.seeds,
            workload: self.workload.clone(),
            scale: self.scale,
        }
    }
}
