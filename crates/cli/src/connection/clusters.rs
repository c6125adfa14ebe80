//! The file of the user's clusters: `~/.config/tollgate/clusters.toml`.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tollgate_client::clusters_file::{ClusterError, ClusterSettings, ClustersFile};
use tollgate_sites::user_dir;

use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::atomic::AtomicOutput;

/// The file, below the user's directory for settings.
const CLUSTERS_FILE: &str = "tollgate/clusters.toml";

fn path() -> Result<PathBuf, CliFailure> {
    Ok(user_dir("XDG_CONFIG_HOME", ".config")?.join(CLUSTERS_FILE))
}

/// Reads the user's file. Without a file there are no clusters.
pub(crate) fn open() -> Result<ClustersFile, CliFailure> {
    let path = path()?;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(ClustersFile::default());
        }
        Err(error) => return Err(CliFailure::read_failed(path.display().to_string(), error)),
    };
    ClustersFile::parse(&text).map_err(|message| ClusterError::Settings { path, message }.into())
}

/// Returns the user's clusters that a list of names means, each once. The word `any` means all.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<ClusterSettings>, CliFailure> {
    Ok(open()?.chosen(names, &path()?)?)
}

/// Writes the user's file in place of the old one, and returns its path.
pub(crate) fn save(clusters: &ClustersFile) -> Result<PathBuf, CliFailure> {
    let path = path()?;
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let text = clusters.to_text().map_err(io::Error::other)?;
        let mut out = AtomicOutput::file(&path)?;
        out.write_all(text.as_bytes())?;
        out.finish()
    };
    write().map_err(|error| CliFailure::write_failed(path.display().to_string(), error))?;
    Ok(path)
}

/// The clusters cannot be used.
impl CliError for ClusterError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Unknown(_) => Some("`tollgate cluster list` shows the clusters".into()),
            Self::NoClusters(_) => Some(
                "add one with `tollgate cluster add NAME --data DIR`, or with `--url URL`".into(),
            ),
            Self::Taken { .. } | Self::Name(_) | Self::Settings { .. } => None,
        }
    }
}
