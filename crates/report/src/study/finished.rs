//! A study that was run, as it lies in its folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use tollgate_study::results::ResultsError;
use tollgate_study::{Experiment, Ledger, Results};

/// Everything that a report tells of.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What came out, a row a run.
    pub results: Results,
    /// What the claims came to.
    pub ledger: Ledger,
    /// What was run on.
    pub summary: Summary,
}

/// What a study was run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The version of tollgate that ran it.
    pub version: String,
    /// Where its jobs come from.
    pub workload: String,
    /// How many jobs there are, before any is left out.
    pub jobs: u64,
    /// What becomes of jobs that never ran.
    pub never_ran: String,
    /// How many nodes the machine has.
    pub nodes: u32,
    /// How many runs were made.
    pub runs: u64,
}

/// A folder that holds no finished study.
#[derive(Debug, Error)]
pub enum FinishedError {
    /// A file is not there, or cannot be read.
    #[error("{}: cannot be read: {error}", file.display())]
    Io {
        /// Which one.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The summary is not one that a study writes.
    #[error("{}: expected the summary of a study: {error}", file.display())]
    Summary {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The table of results does not belong to the summary.
    #[error("{}: {error}", file.display())]
    Results {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        error: ResultsError,
    },
}

impl FinishedError {
    /// The next thing to try, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("`tollgate study run NAME --out DIR` leaves a study in a folder")
            }
            Self::Io { .. } | Self::Summary { .. } | Self::Results { .. } => None,
        }
    }
}

impl Finished {
    /// Reads the study in `folder`: its summary and its results. Claims are tested anew.
    ///
    /// # Errors
    /// [`FinishedError`] if no study was run to its end there.
    pub fn read(folder: &Path) -> Result<Self, FinishedError> {
        let file = folder.join("summary.json");
        let text = fs::read(&file).map_err(|error| FinishedError::Io {
            file: file.clone(),
            error,
        })?;
        let stored: Stored = serde_json::from_slice(&text)
            .map_err(|error| FinishedError::Summary { file, error })?;
        let file = folder.join("results.csv");
        let table = File::open(&file).map_err(|error| FinishedError::Io {
            file: file.clone(),
            error,
        })?;
        let results = Results::read(stored.experiment, table)
            .map_err(|error| FinishedError::Results { file, error })?;
        Ok(Self {
            ledger: Ledger::of(&results),
            results,
            summary: Summary {
                version: stored.tollgate,
                workload: stored.workload.source,
                jobs: stored.workload.jobs,
                never_ran: stored.workload.never_ran,
                nodes: stored.nodes,
                runs: stored.runs,
            },
        })
    }
}

/// The parts of the summary that a report needs.
#[derive(Deserialize)]
struct Stored {
    tollgate: String,
    workload: StoredWorkload,
    nodes: u32,
    runs: u64,
    experiment: Experiment,
}

#[derive(Deserialize)]
struct StoredWorkload {
    source: String,
    jobs: u64,
    never_ran: String,
}
