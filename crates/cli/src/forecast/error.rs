//! What can be wrong with a question to `tollgate forecast`.

use std::borrow::Cow;

use crate::exit::{CliError, ExitKind};

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForecastError {
    /// Records from which no run time can be learned.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingToLearn { file: String, jobs: usize },
    /// Neither records nor a state to answer from.
    #[error("RECORDS: expected at least one file with records of jobs")]
    NoRecords,
}

impl CliError for ForecastError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NothingToLearn { .. } | Self::NoRecords => ExitKind::Usage,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::NothingToLearn { .. } => None,
            Self::NoRecords => Some("`-` reads standard input".into()),
        }
    }
}
