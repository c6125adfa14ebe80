//! A study that was run, as it lies in its folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use tollgate_study::chart::{CHARTS_FILE, WorldChart};
use tollgate_study::results::ResultsError;
use tollgate_study::{ClaimResults, Experiment, StudyResults};

/// Everything that a report tells of.
#[derive(Clone, Debug)]
pub struct FinishedStudy {
    /// What came out, a row a run.
    pub results: StudyResults,
    /// What the claims came to.
    pub ledger: ClaimResults,
    /// What was run on.
    pub summary: StudySummary,
    /// The pictures that its world drew.
    pub charts: Vec<WorldChart>,
}

/// What a study was run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudySummary {
    /// The version of tollgate that ran it.
    pub version: String,
    /// Its jobs and its machine; none in a world without jobs of its own.
    pub input: Option<StudyInput>,
    /// How many runs were made.
    pub runs: u64,
}

/// The jobs and the machine of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyInput {
    /// Where its jobs come from.
    pub workload: String,
    /// How many jobs there are, before any is left out.
    pub jobs: u64,
    /// What becomes of jobs that never ran.
    pub never_ran: String,
    /// How many nodes the machine has.
    pub nodes: u32,
}

/// A folder that holds no finished study.
#[derive(Debug, Error)]
pub enum FinishedStudyError {
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
    /// The pictures are none that a study writes.
    #[error("{}: expected the pictures of a study: {error}", file.display())]
    Charts {
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

impl FinishedStudyError {
    /// The next thing to try, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("`tollgate study run NAME --out DIR` writes a study to a directory")
            }
            Self::Io { .. } | Self::Summary { .. } | Self::Charts { .. } | Self::Results { .. } => {
                None
            }
        }
    }
}

impl FinishedStudy {
    /// Reads the study in `folder`: its summary and its results. Claims are tested anew.
    ///
    /// # Errors
    /// [`FinishedStudyError`] if no study was run to its end there.
    pub fn read(folder: &Path) -> Result<Self, FinishedStudyError> {
        let file = folder.join("summary.json");
        let text = fs::read(&file).map_err(|error| FinishedStudyError::Io {
            file: file.clone(),
            error,
        })?;
        let stored: StoredSummary = serde_json::from_slice(&text)
            .map_err(|error| FinishedStudyError::Summary { file, error })?;
        let file = folder.join("results.csv");
        let table = File::open(&file).map_err(|error| FinishedStudyError::Io {
            file: file.clone(),
            error,
        })?;
        let results = StudyResults::read(stored.experiment, table)
            .map_err(|error| FinishedStudyError::Results { file, error })?;
        Ok(Self {
            ledger: ClaimResults::of(&results),
            results,
            summary: StudySummary {
                version: stored.tollgate,
                input: stored
                    .workload
                    .zip(stored.nodes)
                    .map(|(workload, nodes)| StudyInput {
                        workload: workload.source,
                        jobs: workload.jobs,
                        never_ran: workload.never_ran,
                        nodes,
                    }),
                runs: stored.runs,
            },
            charts: charts(folder)?,
        })
    }
}

/// The pictures in the folder; none if its world drew none.
fn charts(folder: &Path) -> Result<Vec<WorldChart>, FinishedStudyError> {
    let file = folder.join(CHARTS_FILE);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FinishedStudyError::Io { file, error }),
    };
    serde_json::from_slice(&text).map_err(|error| FinishedStudyError::Charts { file, error })
}

/// The parts of the summary that a report needs.
#[derive(Deserialize)]
struct StoredSummary {
    tollgate: String,
    workload: Option<StoredWorkload>,
    nodes: Option<u32>,
    runs: u64,
    experiment: Experiment,
}

#[derive(Deserialize)]
struct StoredWorkload {
    source: String,
    jobs: u64,
    never_ran: String,
}
