//! A site that a command acts on, and the program of its pilots on this host.

use std::borrow::Cow;
use std::path::PathBuf;

use tollgate_sites::{SiteControl, SiteError, SiteSettings, SitesFile, state_dir};

use crate::exit::{CliError, CliFailure, ExitKind};
use crate::operate::serve::current_program;

/// Opens a site of the user's file.
pub(super) fn open(name: &str) -> Result<SiteControl, CliFailure> {
    let file = SitesFile::read(&SitesFile::path()?)?;
    control(file.site(name)?.clone())
}

pub(super) fn control(settings: SiteSettings) -> Result<SiteControl, CliFailure> {
    Ok(SiteControl::open(settings, &state_dir()?, &program()?)?)
}

/// Returns the path of this program as text.
pub(crate) fn program() -> Result<String, CliFailure> {
    Ok(PathBuf::from(current_program()?)
        .to_string_lossy()
        .into_owned())
}

/// The site cannot be used.
impl CliError for SiteError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Settings { .. }
            | Self::Unknown(_)
            | Self::NoSites
            | Self::Exists(_)
            | Self::Setting { .. }
            | Self::Argument(_)
            | Self::NoHome => ExitKind::Usage,
            Self::Busy(_)
            | Self::Kept(_)
            | Self::Occupied { .. }
            | Self::File { .. }
            | Self::Command { .. }
            | Self::Engine { .. }
            | Self::Token(_)
            | Self::TokenDirectory(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}
