//! Job arrays of an engine, found again by their names after a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_batch::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, CommandAnswer,
    EngineCommand, EngineDialect, EngineFault, EngineKind,
};

use crate::error::SiteError;
use crate::journal::{file_error, replace_file};
use crate::shell::{EngineShell, ShellError};

/// The number of looks in a row that do not find an array before the array counts as gone. An
/// engine that restarts may answer for a moment with an empty queue.
const LOOKS_UNTIL_GONE: u32 = 3;

/// An error of a job array.
#[derive(Debug, thiserror::Error)]
pub enum ArrayError {
    /// Another process waits for the array.
    #[error("{}: another process waits for these jobs", .0.display())]
    Busy(PathBuf),
    /// The array of the record is at another engine.
    #[error("the jobs are at {found}, not at {requested}")]
    OtherEngine {
        /// The engine that has the array.
        found: EngineKind,
        /// The engine that was asked for.
        requested: EngineKind,
    },
    /// The engine has no arrays.
    #[error("{0}: no job arrays")]
    NoArrays(EngineKind),
    /// A file cannot be used, or is damaged.
    #[error(transparent)]
    File(#[from] SiteError),
    /// A command of the engine did not end by itself.
    #[error(transparent)]
    Command(#[from] ShellError),
    /// The engine refused, or its answer is not understood.
    #[error("{command}: {fault}")]
    Engine {
        /// The command.
        command: String,
        /// The fault.
        fault: EngineFault,
    },
}

impl ArrayError {
    /// Returns whether a submission that failed so was certainly not carried out.
    pub const fn is_certain(&self) -> bool {
        match self {
            Self::Engine { fault, .. } => !fault.is_uncertain(),
            Self::Command(ShellError::TimedOut { .. } | ShellError::System { .. }) => false,
            Self::Command(ShellError::Start { .. })
            | Self::Busy(_)
            | Self::OtherEngine { .. }
            | Self::NoArrays(_)
            | Self::File(_) => true,
        }
    }
}

/// The job arrays of one purpose at an engine, one after another, locked by this process.
///
/// The name of an array is on disk before the array is submitted. A process that is killed leaves
/// the name, and the next one finds the array at the engine by it.
pub struct ArrayControl {
    file: PathBuf,
    engine: EngineKind,
    dialect: Box<dyn EngineDialect>,
    shell: EngineShell,
    record: Option<ArrayRecord>,
    /// Number of looks in a row that did not find the array.
    missed: u32,
    /// Keeps the lock.
    _lock: File,
}

/// An array that was submitted, or may have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayRecord {
    /// The engine.
    pub engine: EngineKind,
    /// The name at the engine.
    pub name: BatchJobName,
    /// The id at the engine. None until it is known.
    pub id: Option<BatchJobId>,
    /// Number of elements.
    pub elements: u32,
}

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayPhase {
    /// Elements wait or run, with this id of the array.
    Lives(BatchJobId),
    /// The last look did not find the array. The next ones decide whether it is gone.
    Missed,
    /// No element waits or runs, or no array was ever submitted.
    Gone,
}

impl ArrayControl {
    /// Opens the record in `file`, whose directory exists. A lock beside the file holds until this
    /// value is dropped. `program` is the tollgate program of this host.
    ///
    /// # Errors
    /// An error if another process holds the lock, the file cannot be used, or its array is at
    /// another engine.
    pub fn open(
        file: &Path,
        engine: EngineKind,
        shell: EngineShell,
        program: &str,
    ) -> Result<Self, ArrayError> {
        let lock_path = file.with_extension("lock");
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&lock_path)
            .map_err(|error| file_error(&lock_path, "cannot be opened", error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(ArrayError::Busy(file.to_owned()));
            }
            Err(fs::TryLockError::Error(error)) => {
                return Err(file_error(&lock_path, "cannot be locked", error).into());
            }
        }
        let record = read(file)?;
        match &record {
            Some(record) if record.engine != engine => Err(ArrayError::OtherEngine {
                found: record.engine,
                requested: engine,
            }),
            Some(_) | None => Ok(Self {
                file: file.to_owned(),
                engine,
                dialect: engine.dialect(program),
                shell,
                record,
                missed: 0,
                _lock: lock,
            }),
        }
    }

    /// Returns the array. None if none was submitted.
    pub const fn record(&self) -> Option<&ArrayRecord> {
        self.record.as_ref()
    }

    /// Submits an array of `elements` copies of a job. The name of the job is new.
    ///
    /// # Errors
    /// An error if the engine refuses, has no arrays, or the file cannot be written. After an error
    /// that leaves open whether the array was submitted, the record stays, and
    /// [`ArrayControl::look`] finds the array.
    pub fn submit(&mut self, job: &BatchJob, elements: u32) -> Result<BatchJobId, ArrayError> {
        let command = self.dialect.submit_array(job, elements);
        let command = command.ok_or(ArrayError::NoArrays(self.engine))?;
        self.save(ArrayRecord {
            engine: self.engine,
            name: job.name.clone(),
            id: None,
            elements,
        })?;
        self.missed = 0;
        match self.query(&command, |dialect, answer| dialect.parse_submit(answer)) {
            Ok(id) => {
                self.keep_id(id)?;
                Ok(id)
            }
            Err(error) => {
                if error.is_certain() {
                    self.forget()?;
                }
                Err(error)
            }
        }
    }

    /// Asks the engine where the array is. Cancels elements that the engine will not run.
    ///
    /// # Errors
    /// An error if the engine cannot be asked, or answers in words that are not understood.
    pub fn look(&mut self) -> Result<ArrayPhase, ArrayError> {
        let Some(record) = &self.record else {
            return Ok(ArrayPhase::Gone);
        };
        let states = self.dialect.states();
        let reports = self.query(&states, |dialect, answer| dialect.parse_states(answer))?;
        let own = |report: &&BatchJobReport| report.is_named(&record.name);
        let is_live = |report: &&BatchJobReport| match report.phase {
            BatchJobPhase::Waits | BatchJobPhase::Runs => true,
            BatchJobPhase::Stuck | BatchJobPhase::Over => false,
        };
        let stuck = reports.iter().filter(own);
        let stuck = stuck.filter(|report| report.phase == BatchJobPhase::Stuck);
        let mut stuck: Vec<BatchJobId> = stuck.map(|report| report.id).collect();
        stuck.dedup();
        let live = reports.iter().filter(own).find(is_live);
        match live.map(|report| report.id) {
            Some(id) => {
                self.missed = 0;
                let id = record.id.unwrap_or(id);
                self.keep_id(id)?;
                Ok(ArrayPhase::Lives(id))
            }
            None => {
                if !stuck.is_empty() {
                    let cancel = self.dialect.cancel(&stuck);
                    self.query(&cancel, |dialect, answer| dialect.parse_cancel(answer))?;
                }
                self.missed += 1;
                Ok(match self.missed < LOOKS_UNTIL_GONE {
                    true => ArrayPhase::Missed,
                    false => ArrayPhase::Gone,
                })
            }
        }
    }

    /// Removes the record: nothing is waited for any more.
    ///
    /// # Errors
    /// An error if the file cannot be removed.
    pub fn forget(&mut self) -> Result<(), ArrayError> {
        self.record = None;
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file_error(&self.file, "cannot be removed", error).into())
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn keep_id(&mut self, id: BatchJobId) -> Result<(), ArrayError> {
        match self.record.clone() {
            Some(record) if record.id != Some(id) => self.save(ArrayRecord {
                id: Some(id),
                ..record
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn save(&mut self, record: ArrayRecord) -> Result<(), ArrayError> {
        let bytes = serde_json::to_vec_pretty(&record)
            .map_err(|error| file_error(&self.file, "cannot be written", error.into()))?;
        replace_file(&self.file, &bytes)?;
        self.record = Some(record);
        Ok(())
    }

    fn query<T>(
        &self,
        command: &EngineCommand,
        parse: impl Fn(&dyn EngineDialect, &CommandAnswer) -> Result<T, EngineFault>,
    ) -> Result<T, ArrayError> {
        let answer = self.shell.run(command)?;
        parse(self.dialect.as_ref(), &answer).map_err(|fault| ArrayError::Engine {
            command: command.program().to_owned(),
            fault,
        })
    }
}

fn read(file: &Path) -> Result<Option<ArrayRecord>, SiteError> {
    match fs::read(file) {
        Ok(bytes) => {
            let record = serde_json::from_slice(&bytes);
            record.map(Some).map_err(|error| SiteError::Settings {
                path: file.to_owned(),
                message: error.to_string(),
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(file, "cannot be read", error)),
    }
}
