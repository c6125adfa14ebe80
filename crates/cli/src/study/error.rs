//! What can be wrong with a study, as the user is told.

use std::borrow::Cow;

use tollgate_report::folder::WriteError;
use tollgate_report::study::FinishedError;
use tollgate_study::StudyError;
use tollgate_study::batch::BatchError;

use crate::exit::{Complaint, Exit, exit_of_input};

/// Claims that are expected to hold do not.
#[derive(Debug, thiserror::Error)]
#[error("{broken} of {all} claims are expected to hold and do not: {ids}")]
pub(crate) struct Broken {
    pub(crate) broken: usize,
    pub(crate) all: usize,
    pub(crate) ids: String,
}

impl Complaint for Broken {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

/// Wrong words, files and folders are wrong usage; what breaks while it is used has failed.
impl Complaint for StudyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unknown(_)
            | Self::Experiment(_)
            | Self::Change { .. }
            | Self::HugeMachine { .. }
            | Self::Occupied(_)
            | Self::Foreign(_) => Exit::Usage,
            Self::Workload(error) => exit_of_input(&error.cause),
            Self::File { .. } | Self::Table { .. } => Exit::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Owned)
    }
}

/// A job array that did not come to its end.
impl Complaint for BatchError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint().into())
    }
}

/// There is no finished study to report on.
impl Complaint for FinishedError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// A report that cannot be written.
impl Complaint for WriteError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}
