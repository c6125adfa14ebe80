//! The folder that a study leaves behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of results.
///
/// | file | holds |
/// |---|---|
/// | `study.toml` | the experiment as it was given |
/// | `results.csv` | a row a run |
/// | `claims.csv` | the claims ledger |
/// | `risk.csv`, `rankings.csv` | risk analysis, of the objectives that were measured |
/// | `charts.json` | the pictures of a world that draws some |
/// | `summary.json` | versions, seeds, workload, counts, the experiment as it was run |
/// | `journal.csv` | runs that are over, while others are not |
/// | `piece-K-of-N.csv` | the runs of a chunk |
#[derive(Clone, Debug)]
pub struct OutputDir(PathBuf);

impl OutputDir {
    /// The folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Where a file of that name is, or would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where the runs of a chunk are.
    pub(crate) fn piece(&self, chunk: crate::run::StudyChunk) -> PathBuf {
        self.path(&format!("piece-{}-of-{}.csv", chunk.number(), chunk.of()))
    }

    /// The pieces that are there, by name.
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

    /// Writes a file so that it is there as a whole or not at all, whenever this is killed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let draft = self.path(&format!(".{name}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(draft, self.path(name))
    }
}
