//! The flags of `tollgate study`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use tollgate_batch::EngineKind;
use tollgate_study::ExperimentOverrides;

use super::report::WeightArgs;
use crate::args::{OutputFormat, parse_count};
use crate::parse::parse_span;
use tollgate_replay::parallel::n_processors;

/// Run an experiment: results, claims and report in a directory
#[derive(Debug, clap::Args)]
pub(super) struct StudyRunArgs {
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Output directory [default: the name of the experiment]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Continue an earlier run, or gather its chunks
    #[arg(long)]
    pub(super) resume: bool,

    /// Number of threads [default: number of processors]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    threads: Option<NonZeroUsize>,

    /// Engine to run on
    #[arg(long, value_enum, default_value = "local", value_name = "ENGINE")]
    pub(super) on: StudyEngine,

    /// Number of chunks, each an element of a job array [default: 16]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    chunks: Option<NonZeroUsize>,

    /// Time limit of a chunk, as in 4h [default: the queue's]
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    pub(super) time: Option<f64>,

    /// Print command and script for the batch system; submit nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) weight_args: WeightArgs,

    /// Fail if an expected claim does not hold
    #[arg(long)]
    pub(super) strict: bool,

    /// Output format of the claims
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,

    /// Further arguments of the engine's submit command, passed on unchanged
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(super) engine_arguments: Vec<String>,
}

/// Run one chunk of an experiment, for `study run --resume`
///
/// This is what an element of a batch system's job array runs.
#[derive(Debug, clap::Args)]
pub(super) struct StudyChunkArgs {
    /// Number of the chunk, from 1, and of all chunks
    #[arg(value_name = "K/N")]
    pub(super) chunk: tollgate_study::StudyChunk,

    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Directory shared by all chunks [default: the name of the experiment]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Number of threads
    #[arg(
        long, value_name = "N", default_value = "1",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: NonZeroUsize,
}

/// The experiment, and the changes to it.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ExperimentArgs {
    /// Experiment of `tollgate study list`, or a file
    #[arg(value_name = "NAME-or-FILE")]
    pub(super) study: String,

    /// Trace of jobs [default: as the experiment says]
    #[arg(long, value_name = "FILE")]
    pub(super) workload: Option<String>,

    /// Number of seeds of every run [default: as the experiment says]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seeds: Option<u64>,

    /// Factor on the size of each run, as in 0.1 to try
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub(super) scale: Option<f64>,
}

/// Where a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StudyEngine {
    /// This host
    Local,
    /// Job arrays of Slurm, gathered here
    Slurm,
    /// Job arrays of Grid Engine, gathered here
    Sge,
    /// Clusters of HTCondor, gathered here
    Htcondor,
}

impl StudyEngine {
    /// Returns the batch system. None for this host.
    pub(super) const fn batch_system(self) -> Option<EngineKind> {
        match self {
            Self::Local => None,
            Self::Slurm => Some(EngineKind::Slurm),
            Self::Sge => Some(EngineKind::Sge),
            Self::Htcondor => Some(EngineKind::Htcondor),
        }
    }
}

impl StudyRunArgs {
    pub(super) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(n_processors)
    }

    pub(super) fn chunks(&self) -> NonZeroUsize {
        const USUAL: NonZeroUsize = NonZeroUsize::new(16).unwrap();
        self.chunks.unwrap_or(USUAL)
    }

    /// Returns a flag that only a run on a batch system looks at, if one is given.
    pub(super) fn flag_of_batch_systems(&self) -> Option<&'static str> {
        let given = [
            ("--dry-run", self.dry_run),
            ("--chunks", self.chunks.is_some()),
            ("--time", self.time.is_some()),
            ("ARGUMENTS", !self.engine_arguments.is_empty()),
        ];
        let (flag, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
        Some(flag)
    }
}

impl ExperimentArgs {
    pub(super) fn overrides(&self) -> ExperimentOverrides {
        ExperimentOverrides {
            seeds: self.seeds,
            workload: self.workload.clone(),
            scale: self.scale,
            policies: Vec::new(),
        }
    }
}
