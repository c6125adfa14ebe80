//! Everything that was learned, on its way to a file and back.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{Forecaster, Job, OtherVersion, Saved, saved};
use tollgate_model::{Instant, Span};

use super::naming::Naming;
use super::records::Entry;
use super::words::Key;
use crate::exit::{Complaint, Exit};

/// What is known of a site.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) naming: Naming,
    /// When the last job ended that was learned.
    pub(super) until: Option<Instant>,
    /// Whether instants are those of a calendar.
    pub(super) dated: bool,
    pub(super) jobs: u64,
    pub(super) runtime: Forecaster,
    pub(super) cpu_time: Forecaster,
    /// Mebibytes stand for seconds.
    pub(super) memory: Forecaster,
}

/// A state that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// It cannot be opened.
    #[error("--state: {file}: cannot be read: {error}")]
    Open { file: String, error: io::Error },
    /// It is no state, or only a part of one.
    #[error(
        "--state: {file}: expected what `tollgate forecast --state` has written, whole: {error}"
    )]
    Damaged {
        file: String,
        error: serde_json::Error,
    },
    /// It was written by another version of the program.
    #[error("--state: {file}: {error}")]
    Version { file: String, error: OtherVersion },
    /// Its classes are made by other keys.
    #[error("--state: {file}: its classes are made by {found}, and --by asks for {asked}")]
    Keys {
        file: String,
        found: String,
        asked: String,
    },
    /// It cannot be written.
    #[error("--state: {file}: cannot be written: {error}")]
    Write { file: String, error: io::Error },
}

impl Complaint for StateError {
    fn exit(&self) -> Exit {
        match self {
            Self::Write { .. } => Exit::Failed,
            Self::Open { .. } | Self::Damaged { .. } | Self::Version { .. } | Self::Keys { .. } => {
                Exit::Usage
            }
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Damaged { .. } | Self::Version { .. } => {
                "remove the file and learn from all records again"
            }
            Self::Keys { .. } => "leave out --by, or name another file",
            Self::Open { .. } | Self::Write { .. } => return None,
        };
        Some(hint.into())
    }
}

/// A state as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// What the file is, for those who look into it.
    about: String,
    naming: Naming,
    until_us: Option<i64>,
    dated: bool,
    jobs: u64,
    runtime: Saved,
    cpu_time: Saved,
    memory: Saved,
}

const ABOUT: &str = "what `tollgate forecast` has learned";

impl State {
    /// A state that knows nothing. Classes by keys that were asked for are never split.
    pub(super) fn new(by: &[Key]) -> Self {
        let forecaster = || {
            if by.is_empty() {
                Forecaster::default()
            } else {
                Forecaster::default().whole()
            }
        };
        Self {
            naming: Naming::new(by),
            runtime: forecaster(),
            cpu_time: forecaster(),
            memory: forecaster(),
            ..Self::default()
        }
    }

    /// The state in `file`; none if there is no such file.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be used.
    pub(super) fn load(file: &Path) -> Result<Option<Self>, StateError> {
        let name = || file.display().to_string();
        let opened = match File::open(file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(StateError::Open {
                    file: name(),
                    error,
                });
            }
        };
        let mut text = String::new();
        io::Read::read_to_string(&mut BufReader::new(opened), &mut text).map_err(|error| {
            StateError::Open {
                file: name(),
                error,
            }
        })?;
        let damaged = |error| StateError::Damaged {
            file: name(),
            error,
        };
        // Another version may have another shape: that is looked at first.
        if let Some(found) = version(&text) {
            saved::readable(found).map_err(|error| StateError::Version {
                file: name(),
                error,
            })?;
        }
        let stored: Stored = serde_json::from_str(&text).map_err(damaged)?;
        let forecaster = |saved| {
            Forecaster::try_from(saved).map_err(|error| StateError::Version {
                file: name(),
                error,
            })
        };
        Ok(Some(Self {
            naming: stored.naming,
            until: stored.until_us.map(Instant::from_micros),
            dated: stored.dated,
            jobs: stored.jobs,
            runtime: forecaster(stored.runtime)?,
            cpu_time: forecaster(stored.cpu_time)?,
            memory: forecaster(stored.memory)?,
        }))
    }

    /// Writes the state to a file beside `file` and puts it in its place, so that a run that is
    /// killed leaves the old one or the new one.
    ///
    /// # Errors
    /// [`StateError::Write`].
    pub(super) fn save(&self, file: &Path) -> Result<(), StateError> {
        let stored = Stored {
            about: ABOUT.to_owned(),
            naming: self.naming.clone(),
            until_us: self.until.map(Instant::as_micros),
            dated: self.dated,
            jobs: self.jobs,
            runtime: self.runtime.clone().into(),
            cpu_time: self.cpu_time.clone().into(),
            memory: self.memory.clone().into(),
        };
        let beside = beside(file);
        let written = File::create(&beside).and_then(|created| {
            let mut out = BufWriter::new(created);
            serde_json::to_writer(&mut out, &stored)?;
            out.flush()?;
            out.get_ref().sync_all()?;
            fs::rename(&beside, file)
        });
        written.map_err(|error| StateError::Write {
            file: file.display().to_string(),
            error,
        })
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// The version that a stored state names, if it can be found.
fn version(text: &str) -> Option<u32> {
    let (_, after) = text.split_once("\"runtime\":{\"version\":")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The resources that are forecast beside the run time.
pub(super) fn cpu_job(entry: &Entry) -> Job {
    let job = entry.record.job;
    let procs = f64::from(job.procs);
    Job {
        request: job
            .request
            .map(|request| Span::from_secs_f64(request.as_secs_f64() * procs)),
        ..job
    }
}

/// The job as the forecaster of memory sees it.
pub(super) fn memory_job(entry: &Entry) -> Job {
    Job {
        request: entry.memory_request.map(Span::from_secs_f64),
        ..entry.record.job
    }
}
