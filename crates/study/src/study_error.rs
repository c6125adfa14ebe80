//! Errors of a study.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_model::SpeedCountError;
use tollgate_sim::MAX_RECORD_NODES;
use tollgate_trace::OpenError;

use crate::builtin::BUILTIN_EXPERIMENTS;
use crate::parse::ExperimentError;
use crate::results::ResultsError;
use crate::run::PolicyRunError;

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no built-in experiment and no file of that name.
    #[error("there is no study `{0}`, neither built in nor as a file")]
    Unknown(String),
    /// The file is not a valid experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The jobs cannot be read.
    #[error(transparent)]
    Workload(#[from] OpenError),
    /// A policy could not decide on every job of a run.
    #[error(transparent)]
    Run(#[from] PolicyRunError),
    /// A user's change is out of range.
    #[error("{what} is {value}: expected {expected}")]
    Change {
        /// Name of the changed number.
        what: &'static str,
        /// Value of the change.
        value: String,
        /// Expected values.
        expected: &'static str,
    },
    /// The machine of the workload is too large.
    #[error("the machine of the workload has {nodes} nodes: expected at most {MAX_RECORD_NODES}")]
    HugeMachine {
        /// Number of its nodes.
        nodes: u32,
    },
    /// The speeds are those of another number of nodes.
    #[error("world.speeds: {0}")]
    Speeds(#[from] SpeedCountError),
    /// The directory already holds results.
    #[error("{0} holds results already")]
    Occupied(PathBuf),
    /// A file in the directory belongs to another experiment, workload or version.
    #[error("{0} belongs to another study, or to another workload or version of this one")]
    Foreign(PathBuf),
    /// A file of the directory cannot be read or written.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A table cannot be read or written.
    #[error("{file}: {error}")]
    Table {
        /// The file.
        file: PathBuf,
        /// The problem with the table.
        error: ResultsError,
    },
}

impl StudyError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => {
                let names: Vec<&str> = BUILTIN_EXPERIMENTS
                    .iter()
                    .map(|builtin| builtin.name)
                    .collect();
                Some(format!("built in are {}", names.join(", ")))
            }
            Self::Experiment(error) => error.hint(),
            Self::Workload(error) => error.hint().map(str::to_owned),
            Self::Occupied(_) => {
                Some("--resume continues them; --out names another directory".into())
            }
            Self::Foreign(_) => Some("--out names another directory".into()),
            Self::HugeMachine { .. } => {
                Some("`[world] nodes` of the study says how large the machine is".into())
            }
            Self::Speeds(_) => {
                Some("a last speed without a count takes the rest of the nodes".into())
            }
            Self::Run(error) => Some(error.failure.hint().into()),
            Self::Change { .. } | Self::File { .. } | Self::Table { .. } => None,
        }
    }
}

pub(crate) fn file_error(file: &Path) -> impl Fn(io::Error) -> StudyError {
    let file = file.to_owned();
    move |error| StudyError::File {
        file: file.clone(),
        error,
    }
}
