//! Errors of `tollgate campus`.

use std::borrow::Cow;

use tollgate_sim::campus::CampusConfigError;

use crate::exit::{CliError, ExitKind};

/// An error that prevents a replay on desktops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CampusError {
    /// A setting of the synthetic campus outside its range.
    #[error("--{0}")]
    Settings(#[from] CampusConfigError),
    /// The records can be read, but no task of them ever ran.
    #[error("{file}: expected at least one task that ran, found {tasks} that never did")]
    NothingRan { file: String, tasks: usize },
}

impl CliError for CampusError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        None
    }
}
