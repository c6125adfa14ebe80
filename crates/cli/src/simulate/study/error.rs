//! Errors of `tollgate study`.

use std::borrow::Cow;

use tollgate_batch::{EngineFault, RetryAdvice};
use tollgate_report::study::FinishedStudyError;
use tollgate_report::write::PageWriteError;
use tollgate_sites::{ArrayError, ShellError};
use tollgate_study::StudyError;

use crate::exit::{CliError, ExitKind, input_exit};

/// Claims that are expected to hold and do not.
#[derive(Debug, thiserror::Error)]
#[error("{broken} of {all} claims are expected to hold and do not: {ids}")]
pub(crate) struct BrokenClaims {
    pub(crate) broken: usize,
    pub(crate) all: usize,
    pub(crate) ids: String,
}

impl CliError for BrokenClaims {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// Wrong arguments, files and directories are wrong usage. An error during the run is a failure.
impl CliError for StudyError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Unknown(_)
            | Self::Experiment(_)
            | Self::Change { .. }
            | Self::HugeMachine { .. }
            | Self::Speeds(_)
            | Self::Occupied(_)
            | Self::Foreign(_) => ExitKind::Usage,
            Self::Workload(error) => input_exit(&error.cause),
            Self::Run(_) | Self::File { .. } | Self::Table { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Owned)
    }
}

/// A flag about submission to a batch system, for a run on this host.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: nothing is submitted on this host: expected --on slurm, sge or htcondor")]
pub(crate) struct NoBatchSystem {
    pub(crate) flag: &'static str,
}

impl CliError for NoBatchSystem {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

/// Chunks that their jobs left unfinished.
#[derive(Debug, thiserror::Error)]
#[error("{missing} of {of} chunks are unfinished, and their jobs have ended")]
pub(crate) struct UnfinishedChunks {
    pub(crate) missing: usize,
    pub(crate) of: usize,
    pub(crate) folder: String,
}

impl CliError for UnfinishedChunks {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let folder = &self.folder;
        Some(
            format!("{folder}/chunk-*.log say why; `--resume` submits the unfinished chunks again")
                .into(),
        )
    }
}

impl CliError for ArrayError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::OtherEngine { .. } | Self::NoArrays(_) => ExitKind::Usage,
            Self::Busy(_) | Self::File(_) | Self::Command(_) | Self::Engine { .. } => {
                ExitKind::Failed
            }
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Busy(_) => "wait for that process, or end it",
            Self::OtherEngine { .. } => "go on at that engine, with `--resume`",
            Self::Command(ShellError::Start { .. }) => {
                "is this a host of the cluster? `--dry-run` prints the script, and any batch \
                 system can run its command"
            }
            Self::Engine {
                fault:
                    EngineFault::Refused {
                        retry: RetryAdvice::Never,
                        ..
                    },
                ..
            } => "`--time` sets the time limit; words after `--` go to the submit command",
            Self::Command(_) | Self::Engine { .. } => {
                "`--resume` finds by its name whatever was submitted"
            }
            Self::NoArrays(_) | Self::File(_) => return None,
        };
        Some(hint.into())
    }
}

/// A directory without a finished study.
impl CliError for FinishedStudyError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// A report that cannot be written.
impl CliError for PageWriteError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}
