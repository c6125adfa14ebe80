//! A finished study, read from its directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use tollgate_study::chart::{CHARTS_FILE, WorldChart};
use tollgate_study::results::{PARTS_FILE, ResultsError};
use tollgate_study::{ClaimResults, Experiment, StudyResults};

/// A finished study with everything that a report needs.
#[derive(Clone, Debug)]
pub struct FinishedStudy {
    /// The results, one row per run.
    pub results: StudyResults,
    /// The results of the claims.
    pub ledger: ClaimResults,
    /// The version, the input and the number of runs.
    pub summary: StudySummary,
    /// The pictures drawn by the world of the study.
    pub charts: Vec<WorldChart>,
}

/// The summary of a study: its version, its input and the number of its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudySummary {
    /// The version of tollgate that ran the study.
    pub version: String,
    /// The jobs and the machine. None in a world without jobs of its own.
    pub input: Option<StudyInput>,
    /// The number of runs.
    pub runs: u64,
}

/// The jobs and the machine of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyInput {
    /// The source of the jobs.
    pub workload: String,
    /// The number of jobs, before any are left out.
    pub jobs: u64,
    /// The treatment of jobs that never ran.
    pub never_ran: String,
    /// The number of nodes of the machine.
    pub nodes: u32,
}

/// An error while a study is read from its directory.
#[derive(Debug, Error)]
pub enum FinishedStudyError {
    /// A file is missing or cannot be read.
    #[error("{}: cannot be read: {error}", file.display())]
    Io {
        /// The path of the file.
        file: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The summary was not written by a study.
    #[error("{}: expected the summary of a study: {error}", file.display())]
    Summary {
        /// The file.
        file: PathBuf,
        /// The error of the parser.
        error: serde_json::Error,
    },
    /// The file of pictures was not written by a study.
    #[error("{}: expected the pictures of a study: {error}", file.display())]
    Charts {
        /// The file.
        file: PathBuf,
        /// The error of the parser.
        error: serde_json::Error,
    },
    /// The table of results does not belong to the summary.
    #[error("{}: {error}", file.display())]
    Results {
        /// The file.
        file: PathBuf,
        /// The mismatch.
        error: ResultsError,
    },
}

impl FinishedStudyError {
    /// Returns a hint about the next thing to try. None if there is no hint.
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
    /// Reads the study in `folder`: its summary and its results. The claims are tested again.
    ///
    /// # Errors
    /// [`FinishedStudyError`] if the directory holds no finished study.
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
        let results = with_parts(results, folder.join(PARTS_FILE))?;
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

/// Adds the results without each part of the record, if the study had one.
fn with_parts(results: StudyResults, file: PathBuf) -> Result<StudyResults, FinishedStudyError> {
    match File::open(&file) {
        Ok(table) => results
            .with_parts(table)
            .map_err(|error| FinishedStudyError::Results { file, error }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(results),
        Err(error) => Err(FinishedStudyError::Io { file, error }),
    }
}

/// Reads the pictures in the directory. The result is empty if the world of the study drew none.
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
