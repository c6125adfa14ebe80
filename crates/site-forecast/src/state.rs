//! The learned state, and its file.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{
    Belief, BeliefJob, BeliefModel, ForecastJob, Forecaster, ForecasterSnapshot,
    SnapshotVersionError, snapshot,
};
use tollgate_host::replace_public;
use tollgate_model::{Instant, Span, UserId};

use crate::class_key::ClassKey;
use crate::names::ForecastNames;
use crate::records::JobUsageRecord;
use crate::statements::StatementTallies;

/// The forecast state of a site.
#[derive(Clone, Debug, Default)]
pub struct ForecastState {
    /// The names behind classes and contexts.
    pub names: ForecastNames,
    /// The latest end of the learned jobs.
    pub until: Option<Instant>,
    /// Whether the instants are calendar dates.
    pub has_calendar: bool,
    /// Number of learned jobs.
    pub jobs: u64,
    /// The stated beliefs about run times.
    pub beliefs: BeliefModel,
    /// How well the stated beliefs held.
    pub statements: StatementTallies,
    /// The classes, and the forecasts by which they are explained.
    pub runtime: Forecaster,
    /// The forecaster of processor time.
    pub cpu_time: Forecaster,
    /// The forecaster of memory, in which mebibytes take the place of seconds.
    pub memory: Forecaster,
}

/// A state file that cannot be read, used or written.
#[derive(Debug, thiserror::Error)]
pub enum ForecastStateError {
    /// The file cannot be opened.
    #[error("--state: {file}: cannot be read: {error}")]
    Open {
        /// The file.
        file: String,
        /// The cause.
        error: io::Error,
    },
    /// The file holds no state, or only a part of one.
    #[error(
        "--state: {file}: expected what `tollgate forecast --state` has written, whole: {error}"
    )]
    Damaged {
        /// The file.
        file: String,
        /// The cause.
        error: serde_json::Error,
    },
    /// The file was written by another version of the program.
    #[error("--state: {file}: {error}")]
    Version {
        /// The file.
        file: String,
        /// The cause.
        error: SnapshotVersionError,
    },
    /// The classes of the state have other keys.
    #[error("--state: {file}: its classes are made by {found}, and --by asks for {requested}")]
    Keys {
        /// The file.
        file: String,
        /// The keys of its classes.
        found: String,
        /// The keys that were requested.
        requested: String,
    },
    /// The file cannot be written.
    #[error("--state: {file}: cannot be written: {error}")]
    Write {
        /// The file.
        file: String,
        /// The cause.
        error: io::Error,
    },
}

/// The format of a stored state.
#[derive(Serialize, Deserialize)]
struct StoredForecastState {
    /// A description of the file for readers.
    about: String,
    naming: ForecastNames,
    until_us: Option<i64>,
    dated: bool,
    jobs: u64,
    // The version of the format is in here, and is looked for before the rest is read.
    runtime: ForecasterSnapshot,
    beliefs: BeliefModel,
    statements: StatementTallies,
    cpu_time: ForecasterSnapshot,
    memory: ForecasterSnapshot,
}

const ABOUT: &str = "what `tollgate forecast` has learned";

impl ForecastState {
    /// Creates an empty state. Classes with explicit keys are never split.
    pub fn new(by: &[ClassKey]) -> Self {
        Self {
            names: ForecastNames::new(by),
            runtime: new_forecaster(by),
            cpu_time: new_forecaster(by),
            memory: new_forecaster(by),
            ..Self::default()
        }
    }

    /// Loads the state in `file`. None if the file does not exist.
    ///
    /// # Errors
    /// [`ForecastStateError`] if the state cannot be used.
    pub fn load(file: &Path) -> Result<Option<Self>, ForecastStateError> {
        let name = || file.display().to_string();
        let opened = match File::open(file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(ForecastStateError::Open {
                    file: name(),
                    error,
                });
            }
        };
        let mut text = String::new();
        io::Read::read_to_string(&mut BufReader::new(opened), &mut text).map_err(|error| {
            ForecastStateError::Open {
                file: name(),
                error,
            }
        })?;
        let damaged = |error| ForecastStateError::Damaged {
            file: name(),
            error,
        };
        // Another version may have another format, so the version is checked first.
        if let Some(found) = version(&text) {
            snapshot::check_version(found).map_err(|error| ForecastStateError::Version {
                file: name(),
                error,
            })?;
        }
        let stored: StoredForecastState = serde_json::from_str(&text).map_err(damaged)?;
        let forecaster = |saved| {
            Forecaster::try_from(saved).map_err(|error| ForecastStateError::Version {
                file: name(),
                error,
            })
        };
        Ok(Some(Self {
            names: stored.naming,
            until: stored.until_us.map(Instant::from_micros),
            has_calendar: stored.dated,
            jobs: stored.jobs,
            beliefs: stored.beliefs,
            statements: stored.statements,
            runtime: forecaster(stored.runtime)?,
            cpu_time: forecaster(stored.cpu_time)?,
            memory: forecaster(stored.memory)?,
        }))
    }

    /// Writes the state to a temporary file and renames it to `file`, so that a killed run leaves
    /// the old state or the new state.
    ///
    /// # Errors
    /// [`ForecastStateError::Write`].
    pub fn save(&self, file: &Path) -> Result<(), ForecastStateError> {
        let stored = StoredForecastState {
            about: ABOUT.to_owned(),
            naming: self.names.clone(),
            until_us: self.until.map(Instant::as_micros),
            dated: self.has_calendar,
            jobs: self.jobs,
            runtime: self.runtime.clone().into(),
            beliefs: self.beliefs.clone(),
            statements: self.statements.clone(),
            cpu_time: self.cpu_time.clone().into(),
            memory: self.memory.clone().into(),
        };
        let text = serde_json::to_vec(&stored).map_err(io::Error::from);
        let written = text.and_then(|text| replace_public(file, &text));
        written.map_err(|error| ForecastStateError::Write {
            file: file.display().to_string(),
            error,
        })
    }
}

impl ForecastState {
    /// Returns what is believed of a job that is submitted once all learned jobs have ended.
    pub fn belief(&self, job: &ForecastJob) -> Belief {
        let now = self.until.unwrap_or(Instant::ZERO);
        self.beliefs.belief(&belief_job(job), now)
    }
}

/// Returns a forecaster of classes with these keys. Classes with explicit keys are never split.
pub(crate) fn new_forecaster(by: &[ClassKey]) -> Forecaster {
    if by.is_empty() {
        Forecaster::default()
    } else {
        Forecaster::default().without_splitting()
    }
}

/// Returns a job in the terms of beliefs: the jobs of a class count as those of one user.
pub(crate) fn belief_job(job: &ForecastJob) -> BeliefJob {
    BeliefJob::new(UserId(job.class.0), job)
}

/// Returns the version of a stored state. None if the version cannot be found.
fn version(text: &str) -> Option<u32> {
    let (_, after) = text.split_once("\"runtime\":{\"version\":")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Returns the job for the forecaster of processor time.
pub(crate) fn cpu_job(entry: &JobUsageRecord) -> ForecastJob {
    let job = entry.record.job;
    let procs = f64::from(job.procs);
    ForecastJob {
        request: job
            .request
            .map(|request| Span::from_secs_f64(request.as_secs_f64() * procs)),
        ..job
    }
}

/// Returns the job for the forecaster of memory.
pub(crate) fn memory_job(entry: &JobUsageRecord) -> ForecastJob {
    ForecastJob {
        request: entry.memory_request.map(Span::from_secs_f64),
        ..entry.record.job
    }
}
