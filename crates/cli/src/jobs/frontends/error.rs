//! Errors of a front end.

use std::borrow::Cow;

use crate::exit::{CliError, ExitKind};

/// The exit code of PBS's tools for an unknown job.
const UNKNOWN_JOB: u8 = 153;

/// An error of a front end.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrontendError {
    /// An unknown option.
    #[error("{place}: unknown option `{option}`")]
    Unknown { place: String, option: String },
    /// An option without its value.
    #[error("{place}: {option}: expected a value")]
    NoValue { place: String, option: String },
    /// An option with an invalid value.
    #[error("{place}: {option}: {message}")]
    Value {
        place: String,
        option: String,
        message: String,
    },
    /// An option that cannot be honoured.
    #[error("{place}: {option}: not supported: {message}")]
    UnsupportedOption {
        place: String,
        option: String,
        message: &'static str,
    },
    /// Jobs that do not exist.
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
