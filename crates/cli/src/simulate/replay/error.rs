//! Errors of `tollgate replay`.

use std::borrow::Cow;

use tollgate_replay::ReplayError;
use tollgate_report::png::PngError;

use super::notes;
use crate::exit::{CliError, ExitKind};

/// An error that prevents a replay from the command line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayFlagError {
    /// An error of the replay itself.
    #[error("{}", message(.0))]
    Replay(#[from] ReplayError),
    /// A policy beside another scheduler.
    #[error("--shadow: {0}")]
    Shadow(ReplayError),
    /// A flag that would change nothing in this run.
    #[error("{flag} changes nothing: {reason}")]
    NoEffect {
        flag: &'static str,
        reason: &'static str,
        hint: &'static str,
    },
    /// Standard output as the file of jobs, where rows would mix with the output.
    #[error("--jobs-out: expected the name of a file, got `-`")]
    JobsOutToStdout,
    /// A calibration as CSV, which has one row per policy.
    #[error("--calibration: expected the format table or json, got csv")]
    CalibrationAsCsv,
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
    /// A picture that is too large for pixels.
    #[error("--gantt: {file}: {cause}")]
    Picture { file: String, cause: PngError },
}

/// Returns the message with the flag that the user has to change.
fn message(error: &ReplayError) -> String {
    match error {
        ReplayError::Policy(_) | ReplayError::WrongMarket { .. } => format!("--policy: {error}"),
        ReplayError::Settings(_) => format!("--{error}"),
        ReplayError::Speeds(_) => format!("--speeds: {error}"),
        ReplayError::NoRequestedMemory { .. } => format!("--node-memory: {error}"),
        ReplayError::Treatment { .. } => format!("--unpredictable: {error}"),
        ReplayError::FewJobs { .. } => format!("--windows: {error}"),
        ReplayError::HugeMachine { machine, most } => {
            let machine = notes::describe(machine);
            format!("{machine}: expected at most {most} nodes")
        }
        ReplayError::Open(_)
        | ReplayError::NothingRan { .. }
        | ReplayError::Dateless(_)
        | ReplayError::NothingSelected { .. }
        | ReplayError::Run { .. } => error.to_string(),
    }
}

impl CliError for ReplayFlagError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Replay(error) | Self::Shadow(error) => error.exit(),
            Self::NoEffect { .. }
            | Self::JobsOutToStdout
            | Self::CalibrationAsCsv
            | Self::ScheduleOfSeveralSizes { .. }
            | Self::ClusterFile { .. }
            | Self::SameName { .. }
            | Self::GanttOfSeveral { .. } => ExitKind::Usage,
            Self::Picture { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Shadow(ReplayError::WrongMarket { .. }) => {
                "choose policies of a market without prices: `tollgate policies` lists the markets"
            }
            Self::Replay(error) | Self::Shadow(error) => return error.hint(),
            Self::NoEffect { hint, .. } => hint,
            Self::ClusterFile { .. } => {
                "a file says `nodes` and `policy`, and may say `name`, `speeds` and `market`"
            }
            Self::SameName { .. } => "a file names its cluster with `name`",
            Self::JobsOutToStdout => "`--jobs-out /dev/stdout` mixes both, if that is meant",
            Self::CalibrationAsCsv => "a row of CSV has the results of a policy, and no bins",
            Self::GanttOfSeveral { .. } => "choose those to be drawn with `--policy`",
            Self::ScheduleOfSeveralSizes { .. } => "run the sizes one by one",
            Self::Picture { .. } => "a name that ends in .svg has no limit of its size",
        };
        Some(hint.into())
    }
}

impl CliError for ReplayError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Open(error) => error.exit(),
            Self::Policy(_)
            | Self::WrongMarket { .. }
            | Self::Settings(_)
            | Self::NothingRan { .. }
            | Self::HugeMachine { .. }
            | Self::Speeds(_)
            | Self::NoRequestedMemory { .. }
            | Self::FewJobs { .. }
            | Self::Treatment { .. }
            | Self::Dateless(_)
            | Self::NothingSelected { .. } => ExitKind::Usage,
            Self::Run { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Open(error) => return CliError::hint(error),
            Self::Policy(_) => "`tollgate policies` lists the policies and their parameters",
            Self::WrongMarket { .. } => "add `--market bid` or `--market commodity`",
            Self::Settings(_) => return None,
            Self::NothingRan { .. } => "`--never-ran one` runs such jobs for one second",
            Self::HugeMachine { .. } => {
                "give the size of the machine with `--nodes`, at most 10000000 (about 4 GB of memory)"
            }
            Self::Speeds(_) => "a last speed without a count takes the rest of the nodes",
            Self::NoRequestedMemory { .. } => "leave out `--node-memory`: no job needs any",
            Self::Treatment { .. } => return None,
            Self::FewJobs { .. } => "ask for fewer windows, or for more of the record",
            Self::Dateless(_) => {
                "give seconds of the record's clock, as `tollgate trace info` shows them"
            }
            Self::NothingSelected { .. } => "`tollgate trace info` shows the period and the names",
            Self::Run { failure, .. } => failure.hint(),
        };
        Some(hint.into())
    }
}
