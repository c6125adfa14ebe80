//! Errors of `tollgate forecast`.

use std::borrow::Cow;

use crate::exit::{CliError, ExitKind};

/// An error that prevents a forecast.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForecastError {
    /// The records contain no run time to learn from.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingToLearn { file: String, jobs: usize },
    /// Neither records nor a state were given.
    #[error("RECORDS: expected at least one file with records of jobs")]
    NoRecords,
    /// Beliefs from nothing are asked for where no answer has them.
    #[error("--cold changes nothing: only the JSON format has evaluations of beliefs")]
    ColdWithoutJson,
}

impl CliError for ForecastError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NothingToLearn { .. } | Self::NoRecords | Self::ColdWithoutJson => {
                ExitKind::Usage
            }
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::NothingToLearn { .. } => None,
            Self::NoRecords => Some("`-` reads standard input".into()),
            Self::ColdWithoutJson => Some("add `--format json`".into()),
        }
    }
}
