//! The exit codes of front ends.

use std::borrow::Cow;

use tollgate_frontends::FrontendError;

use crate::exit::{CliError, ExitKind};

impl CliError for FrontendError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Unknown { .. }
            | Self::NoValue { .. }
            | Self::Value { .. }
            | Self::UnsupportedOption { .. } => ExitKind::Usage,
            Self::Request(error) => error.exit(),
            Self::NoDirectory(_) => ExitKind::Failed,
            Self::UnknownJobs { of_pbs: true, .. } => ExitKind::UnknownJob,
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
            | Self::Request(_)
            | Self::NoDirectory(_)
            | Self::UnknownJobs { .. } => None,
        }
    }
}
