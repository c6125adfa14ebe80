//! Errors of `tollgate study`.

use std::borrow::Cow;

use tollgate_report::study::FinishedStudyError;
use tollgate_report::write::PageWriteError;
use tollgate_study::StudyError;
use tollgate_study::job_array::JobArrayError;

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

/// A job array that did not finish.
impl CliError for JobArrayError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint().into())
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
