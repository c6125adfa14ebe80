//! What can be wrong with a call of a front end.

use std::borrow::Cow;

use crate::exit::{CliError, ExitKind};

/// What PBS's tools end with where a job is not known.
const UNKNOWN_JOB: u8 = 153;

/// Why a front end did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrontendError {
    /// An option that nobody knows.
    #[error("{place}: unknown option `{option}`")]
    Unknown { place: String, option: String },
    /// An option without its value.
    #[error("{place}: {option}: expected a value")]
    NoValue { place: String, option: String },
    /// A value that means nothing.
    #[error("{place}: {option}: {message}")]
    Value {
        place: String,
        option: String,
        message: String,
    },
    /// What would not be honoured.
    #[error("{place}: {option}: not supported: {message}")]
    UnsupportedOption {
        place: String,
        option: String,
        message: &'static str,
    },
    /// Jobs that are not there.
    #[error("{tool}: {words}")]
    UnknownJobs {
        tool: &'static str,
        words: String,
        of_pbs: bool,
    },
}

impl CliError for FrontendError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Unknown { .. }
            | Self::NoValue { .. }
            | Self::Value { .. }
            | Self::UnsupportedOption { .. } => ExitKind::Usage,
            Self::UnknownJobs { of_pbs: true, .. } => ExitKind::External(UNKNOWN_JOB),
            Self::UnknownJobs { of_pbs: false, .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::UnsupportedOption { .. } => {
                Some("`tollgate submit --help` lists what is supported".into())
            }
            Self::Unknown { .. }
            | Self::NoValue { .. }
            | Self::Value { .. }
            | Self::UnknownJobs { .. } => None,
        }
    }
}
