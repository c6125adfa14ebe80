//! Errors of `tollgate replay`.

use std::borrow::Cow;

use tollgate_model::{Market, SpeedCountError};
use tollgate_policy::PolicyError;
use tollgate_report::png::PngError;
use tollgate_sim::ReplayFailure;
use tollgate_trace::record_filter::DatelessRecord;
use tollgate_workload::WorkloadConfigError;

use crate::exit::{CliError, ExitKind};

/// An error that prevents a replay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// A name of an unknown policy, or of an unknown parameter of a policy.
    #[error("--policy: {0}")]
    Policy(#[from] PolicyError),
    /// A policy that does not run in the market.
    #[error("--policy: `{policy}` weighs budgets, and market `{market}` has no budgets")]
    WrongMarket { policy: String, market: Market },
    /// A setting of the workload outside its range.
    #[error("--{0}")]
    Settings(#[from] WorkloadConfigError),
    /// A flag that would change nothing in this run.
    #[error("{flag} changes nothing: {reason}")]
    NoEffect {
        flag: &'static str,
        reason: &'static str,
        hint: &'static str,
    },
    /// The workload can be read, but no job of it ever ran.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingRan { file: String, jobs: usize },
    /// More nodes than any machine has.
    #[error("{machine}: expected at most {most} nodes")]
    HugeMachine { machine: String, most: u32 },
    /// Speeds of another number of nodes.
    #[error("--speeds: {0}")]
    Speeds(#[from] SpeedCountError),
    /// Standard output as the file of jobs, where rows would mix with the output.
    #[error("--jobs-out: expected the name of a file, got `-`")]
    JobsOutToStdout,
    /// A calibration as CSV, which has one row per policy.
    #[error("--calibration: expected the format table or json, got csv")]
    CalibrationAsCsv,
    /// A record with too few jobs for its windows.
    #[error("--windows: {windows} windows need at least {needed} jobs, and the record has {jobs}")]
    FewJobs {
        windows: u32,
        needed: usize,
        jobs: usize,
    },
    /// A chart of more than two policies.
    #[error("--gantt: expected one policy or two, got {policies}")]
    GanttOfSeveral { policies: usize },
    /// Schedules of several machines. A file has those of one.
    #[error("--nodes: expected one size with --jobs-out and --gantt, got {sizes}")]
    ScheduleOfSeveralSizes { sizes: usize },
    /// A file of a cluster that is not understood.
    #[error("{file}: {message}")]
    ClusterFile { file: String, message: String },
    /// Two clusters of one name.
    #[error("--clusters: two clusters are called `{name}`")]
    SameName { name: String },
    /// A date for a record without a calendar.
    #[error(transparent)]
    Dateless(#[from] DatelessRecord),
    /// A period, users or queues without jobs.
    #[error("{file}: no job is of these queues and users in this period")]
    NothingSelected { file: String },
    /// A picture that is too large for pixels.
    #[error("--gantt: {file}: {cause}")]
    Picture { file: String, cause: PngError },
    /// A policy that could not decide on every job, or an impossible schedule.
    #[error("policy `{policy}`: {failure}")]
    Run {
        policy: String,
        failure: ReplayFailure,
    },
}

impl CliError for ReplayError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Policy(_)
            | Self::WrongMarket { .. }
            | Self::Settings(_)
            | Self::NoEffect { .. }
            | Self::NothingRan { .. }
            | Self::HugeMachine { .. }
            | Self::Speeds(_)
            | Self::JobsOutToStdout
            | Self::CalibrationAsCsv
            | Self::FewJobs { .. }
            | Self::ScheduleOfSeveralSizes { .. }
            | Self::ClusterFile { .. }
            | Self::SameName { .. }
            | Self::Dateless(_)
            | Self::NothingSelected { .. }
            | Self::GanttOfSeveral { .. } => ExitKind::Usage,
            Self::Picture { .. } | Self::Run { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Policy(_) => "`tollgate policies` lists the policies and their parameters",
            Self::WrongMarket { .. } => "add `--market bid` or `--market commodity`",
            Self::NoEffect { hint, .. } => hint,
            Self::Settings(_) => return None,
            Self::ClusterFile { .. } => {
                "a file says `nodes` and `policy`, and may say `name`, `speeds` and `market`"
            }
            Self::SameName { .. } => "a file names its cluster with `name`",
            Self::NothingRan { .. } => "`--never-ran one` runs such jobs for one second",
            Self::HugeMachine { .. } => {
                "give the size of the machine with `--nodes`, at most 10000000 (about 4 GB of memory)"
            }
            Self::Speeds(_) => "a last speed without a count takes the rest of the nodes",
            Self::JobsOutToStdout => "`--jobs-out /dev/stdout` mixes both, if that is meant",
            Self::CalibrationAsCsv => "a row of CSV has the results of a policy, and no bins",
            Self::FewJobs { .. } => "ask for fewer windows, or for more of the record",
            Self::GanttOfSeveral { .. } => "choose those to be drawn with `--policy`",
            Self::ScheduleOfSeveralSizes { .. } => "run the sizes one by one",
            Self::Dateless(_) => {
                "give seconds of the record's clock, as `tollgate trace info` shows them"
            }
            Self::NothingSelected { .. } => "`tollgate trace info` shows the period and the names",
            Self::Picture { .. } => "a name that ends in .svg has no limit of its size",
            Self::Run { failure, .. } => failure.hint(),
        };
        Some(hint.into())
    }
}
