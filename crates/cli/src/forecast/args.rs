//! The flags as they are typed.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Subcommand;
use tollgate_model::Span;

use super::words::{Key, Level, span};
use crate::args::{Format, count};

/// Learn from records of jobs how long the next ones will take, with probabilities that hold.
///
/// Without a flag: every class of jobs, how it behaves, and what its next job will take.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    /// Records of jobs: any format that `tollgate replay` reads, plain or gzip; `-` reads standard
    /// input
    #[arg(value_name = "RECORDS")]
    pub(super) records: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) by: By,

    /// The probabilities with which a job takes at most as long as is said
    #[arg(
        long = "level", value_name = "P,..", value_delimiter = ',',
        default_values_t = [Level::NINE_IN_TEN, Level::NINETEEN_IN_TWENTY],
        allow_negative_numbers = true,
    )]
    pub(super) levels: Vec<Level>,

    /// Go on with what this file holds, if it is there, and leave in it what was learned
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,

    /// Answer about one job, and say why
    #[arg(long)]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) job: JobArgs,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Say nothing about the records, only what goes wrong
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Evaluate(EvaluateArgs),
}

/// What makes a class.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct By {
    /// What the jobs of a class have in common [default: the user, and whatever tells the jobs of
    /// that user apart]
    #[arg(long, value_enum, value_name = "KEY,..", value_delimiter = ',')]
    pub(super) by: Vec<Key>,
}

/// The job that `--explain` is about.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The job to explain")]
pub(super) struct JobArgs {
    /// Who hands it in
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(super) user: Option<String>,

    /// Their group
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(super) group: Option<String>,

    /// What it is charged to
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(super) account: Option<String>,

    /// What it runs
    #[arg(
        long = "exe",
        visible_alias = "executable",
        value_name = "NAME",
        requires = "explain"
    )]
    pub(super) executable: Option<String>,

    /// The queue that it is handed to
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(super) queue: Option<String>,

    /// The processors that it asks for
    #[arg(
        long, value_name = "N", default_value = "1", requires = "explain",
        value_parser = count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) procs: NonZeroU32,

    /// How long its user says that it will run: 90, 30m, 2h, 1-12:00:00
    #[arg(long, value_name = "TIME", requires = "explain", value_parser = span)]
    pub(super) estimate: Option<Span>,
}

/// Forecast every job of some records by what came before it, and say how good that was.
///
/// In two settings: one-step, as if each job ended before the next one is handed in, and causal,
/// with only those that had ended by then.
#[derive(Debug, clap::Args)]
pub(super) struct EvaluateArgs {
    /// Records of jobs: any format that `tollgate replay` reads, plain or gzip; `-` reads standard
    /// input
    #[arg(value_name = "RECORDS", required = true)]
    pub(super) records: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) by: By,

    /// A class with at least so many jobs that ran is a series, over which errors are counted
    #[arg(
        long, value_name = "N", default_value = "160",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) series: NonZeroUsize,

    /// Leave out AutoETS and AutoARIMA, which take longer than all the rest
    #[arg(long)]
    pub(super) no_models: bool,

    /// Write tables as CSV, a report and its pictures into this folder
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Say nothing about the records, only what goes wrong
    #[arg(long, short)]
    pub(super) quiet: bool,
}
