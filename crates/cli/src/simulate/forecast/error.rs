//! Errors of `tollgate forecast`.

use std::borrow::Cow;

use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_site_forecast::{ConfidenceLevel, ForecastStateError, NothingToLearn};

use crate::exit::{CliError, ExitKind};

/// An error that prevents a forecast.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForecastError {
    /// Neither records nor a state were given.
    #[error("RECORDS: expected at least one file with records of jobs")]
    NoRecords,
    /// Beliefs from nothing are asked for where no answer has them.
    #[error("--cold changes nothing: only the JSON format has evaluations of beliefs")]
    ColdWithoutJson,
    /// The records say nothing about waits.
    #[error("{file}: expected the waits of jobs: {reason}")]
    NoWaits { file: String, reason: &'static str },
    /// Too few waits have ended for a first guess.
    #[error("{file}: expected at least ten waits that have ended, found {waits}")]
    FewWaits { file: String, waits: u64 },
    /// A level at which waits are not forecast.
    #[error("--level: waits are not forecast at {0}: expected one of {levels}", levels = wait_levels())]
    WaitLevel(ConfidenceLevel),
}

fn wait_levels() -> String {
    WAIT_LEVELS.map(|level| level.to_string()).join(", ")
}

impl CliError for ForecastError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoRecords
            | Self::ColdWithoutJson
            | Self::NoWaits { .. }
            | Self::FewWaits { .. }
            | Self::WaitLevel(_) => ExitKind::Usage,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::FewWaits { .. } | Self::WaitLevel(_) => None,
            Self::NoWaits { .. } => {
                Some("without waits only run times can be forecast: leave out `--waits`".into())
            }
            Self::NoRecords => Some("`-` reads standard input".into()),
            Self::ColdWithoutJson => Some("add `--format json`".into()),
        }
    }
}

impl CliError for NothingToLearn {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

impl CliError for ForecastStateError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Write { .. } => ExitKind::Failed,
            Self::Open { .. } | Self::Damaged { .. } | Self::Version { .. } | Self::Keys { .. } => {
                ExitKind::Usage
            }
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Damaged { .. } | Self::Version { .. } => {
                "remove the file and learn from all records again"
            }
            Self::Keys { .. } => "leave out --by, or name another file",
            Self::Open { .. } | Self::Write { .. } => return None,
        };
        Some(hint.into())
    }
}
