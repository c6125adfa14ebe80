//! The flags of `tollgate forecast`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tollgate_model::Span;
use tollgate_site_forecast::{ClassKey, ConfidenceLevel, DescribedJob};

use super::parse::parse_span;
use crate::args::{OutputFormat, parse_count};

/// The options of `tollgate forecast`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ForecastArgs {
    #[command(subcommand)]
    pub(super) command: Option<ForecastCommand>,

    /// Records of jobs, in any format that `tollgate replay` reads
    ///
    /// Plain or gzip; `-` is standard input.
    #[arg(value_name = "RECORDS")]
    pub(super) records: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) class_keys: ClassKeyArgs,

    /// Probabilities of the upper bounds
    #[arg(
        long = "level", value_name = "P,..", value_delimiter = ',',
        default_values_t = [ConfidenceLevel::P90, ConfidenceLevel::P95],
        allow_negative_numbers = true,
    )]
    pub(super) levels: Vec<ConfidenceLevel>,

    /// File to load earlier knowledge from, and to save it to
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,

    /// Forecast one job, and explain the forecast
    #[arg(long)]
    pub(super) explain: bool,

    /// Forecast when jobs start, from the queue at the record's end
    #[arg(long, conflicts_with = "state")]
    pub(super) waits: bool,

    #[command(flatten)]
    pub(super) job: ExplainedJobArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ForecastCommand {
    Evaluate(ForecastEvaluateArgs),
}

/// Properties that make a class.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ClassKeyArgs {
    /// Keys that make a class [default: user, split where that helps]
    #[arg(
        long,
        value_enum,
        value_name = "KEY,..",
        value_delimiter = ',',
        conflicts_with = "waits"
    )]
    by: Vec<ClassKeyArg>,
}

impl ClassKeyArgs {
    pub(super) fn keys(&self) -> Vec<ClassKey> {
        self.by.iter().copied().map(ClassKey::from).collect()
    }
}

/// A property that the jobs of a class may have in common.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ClassKeyArg {
    /// User
    User,
    /// Group of the user
    Group,
    /// Account
    Account,
    /// Executable
    #[value(alias = "exe")]
    Executable,
    /// Queue
    Queue,
    /// Number of processors
    Procs,
    /// User's estimate
    Estimate,
}

impl From<ClassKeyArg> for ClassKey {
    fn from(arg: ClassKeyArg) -> Self {
        match arg {
            ClassKeyArg::User => Self::User,
            ClassKeyArg::Group => Self::Group,
            ClassKeyArg::Account => Self::Account,
            ClassKeyArg::Executable => Self::Executable,
            ClassKeyArg::Queue => Self::Queue,
            ClassKeyArg::Procs => Self::Procs,
            ClassKeyArg::Estimate => Self::Estimate,
        }
    }
}

/// The heading of the options about that job.
const JOB_HEADING: &str = "Job to explain";

/// The job that `--explain` is about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ExplainedJobArgs {
    /// User of the job
    #[arg(long, value_name = "NAME", requires = "explain", help_heading = JOB_HEADING)]
    pub(super) user: Option<String>,

    /// Group of the user
    #[arg(
        long, value_name = "NAME", requires = "explain", conflicts_with = "waits", help_heading = JOB_HEADING,
    )]
    pub(super) group: Option<String>,

    /// Account of the job
    #[arg(
        long, value_name = "NAME", requires = "explain", conflicts_with = "waits", help_heading = JOB_HEADING,
    )]
    pub(super) account: Option<String>,

    /// Executable of the job
    #[arg(
        long = "exe",
        visible_alias = "executable",
        value_name = "NAME",
        requires = "explain",
        conflicts_with = "waits",
        help_heading = JOB_HEADING
    )]
    pub(super) executable: Option<String>,

    /// Queue of the job
    #[arg(long, value_name = "NAME", requires = "explain", help_heading = JOB_HEADING)]
    pub(super) queue: Option<String>,

    /// Number of processors of the job
    #[arg(
        long, value_name = "N", default_value = "1", requires = "explain", help_heading = JOB_HEADING,
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) procs: NonZeroU32,

    /// User's estimate, as in 90, 30m, 2h or 1-12:00:00
    #[arg(long, value_name = "TIME", requires = "explain", value_parser = parse_span, help_heading = JOB_HEADING)]
    pub(super) estimate: Option<Span>,
}

impl ExplainedJobArgs {
    pub(super) fn described(&self) -> DescribedJob {
        DescribedJob {
            user: self.user.clone(),
            group: self.group.clone(),
            account: self.account.clone(),
            executable: self.executable.clone(),
            queue: self.queue.clone(),
            procs: self.procs.get(),
            estimate: self.estimate,
        }
    }
}

/// Measure how good forecasts of every job of the records are.
///
/// In two settings: one-step, as if each job ended before the next one is submitted, and causal,
/// with only the jobs that had ended by then.
#[derive(Debug, clap::Args)]
pub(super) struct ForecastEvaluateArgs {
    /// Records of jobs, in any format that `tollgate replay` reads
    ///
    /// Plain or gzip; `-` is standard input.
    #[arg(value_name = "RECORDS", required = true)]
    pub(super) records: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) class_keys: ClassKeyArgs,

    /// Minimum number of jobs of a class to count its errors
    #[arg(
        long, value_name = "N", default_value = "160",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) series: NonZeroUsize,

    /// Measure forecasts of waits instead of run times
    #[arg(long, conflicts_with_all = ["series", "cold", "out"])]
    pub(super) waits: bool,

    /// Evaluate beliefs also from nothing, on parts of this many jobs
    #[arg(long, value_name = "N", value_parser = parse_count::<NonZeroUsize>)]
    pub(super) cold: Option<NonZeroUsize>,

    /// Directory for CSV tables, a report and its pictures
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}
