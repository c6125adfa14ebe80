//! The output directory of a study.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_host::replace_public;

/// A directory of results.
///
/// | file | contents |
/// |---|---|
/// | `study.toml` | the experiment file, unchanged |
/// | `results.csv` | one row per run |
/// | `claims.csv` | the claims ledger |
/// | `risk.csv`, `rankings.csv` | risk analysis, of the objectives that were measured |
/// | `charts.json` | the charts of a world that has its own |
/// | `summary.json` | versions, seeds, workload, counts, the experiment with its overrides |
/// | `journal.csv` | finished runs, until all runs are finished |
/// | `piece-K-of-N.csv` | the runs of a chunk |
#[derive(Clone, Debug)]
pub struct OutputDir(PathBuf);

impl OutputDir {
    /// Opens the directory at `path`, which is created if it does not exist.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Returns the path of a file of that name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of the runs of a chunk.
    pub(crate) fn piece(&self, chunk: crate::run::StudyChunk) -> PathBuf {
        self.path(&format!("piece-{}-of-{}.csv", chunk.number(), chunk.of()))
    }

    /// Returns the existing pieces, by name.
    pub(crate) fn pieces(&self) -> io::Result<Vec<PathBuf>> {
        let mut pieces = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("piece-") && name.ends_with(".csv") {
                pieces.push(path);
            }
        }
        pieces.sort();
        Ok(pieces)
    }

    /// Writes a file atomically: it exists as a whole or not at all, even if the process is killed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        replace_public(&self.path(name), bytes)
    }
}
