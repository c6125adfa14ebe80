//! What can be wrong with a study, as the user is told.

use std::borrow::Cow;

use tollgate_report::study::FinishedStudyError;
use tollgate_report::write::PageWriteError;
use tollgate_study::StudyError;
use tollgate_study::job_array::JobArrayError;

use crate::exit::{CliError, ExitKind, input_exit};

/// Claims that are expected to hold do not.
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

/// Wrong words, files and folders are wrong usage; what breaks while it is used has failed.
impl CliError for StudyError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Unknown(_)
            | Self::Experiment(_)
            | Self::Change { .. }
            | Self::HugeMachine { .. }
            | Self::Occupied(_)
            | Self::Foreign(_) => ExitKind::Usage,
            Self::Workload(error) => input_exit(&error.cause),
            Self::File { .. } | Self::Table { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Owned)
    }
}

/// A job array that did not come to its end.
impl CliError for JobArrayError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint().into())
    }
}

/// There is no finished study to report on.
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
