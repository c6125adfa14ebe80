//! The directory of a session.
//!
//! | file | contents |
//! |---|---|
//! | `session.json` | when the session was started, and when it ended |
//! | `data` | the data directory of its service, with the socket of its terminal |
//! | `sites` | the sites of the session, and what is known of their pilots |
//! | `agents` | the agents of the sites, if pilots move between these |
//! | `inside` | the scheduler inside the pilots, if the session has one |
//! | `env` | the variables of the session, for a shell that reads them with `.` |
//! | `bin` | links to this program by the names of the front ends |
//! | `lock` | locked by the command that starts or ends the session |
//! | `log` | messages of the process that holds the terminal |
//!
//! It stays when the session ends, so that a session of the same name has the history of its jobs.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tollgate_batch::shell::quote;
use tollgate_client::endpoint::{DATA_VARIABLE, REMOTE_VARIABLES};
use tollgate_frontends::FrontendTool;
use tollgate_host::replace_private;
use tollgate_inside::{InsideError, PersonalScheduler, SchedulerKind};
use tollgate_model::Instant;
use tollgate_sites::{CONFIG_VARIABLES, ENGINE_PATH_VARIABLE, SITES_VARIABLE, SitesFile, user_dir};
use tollgate_store::data_dir;

use super::error::SessionError;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

/// The variable with the name of the session that a process belongs to.
pub(super) const SESSION_VARIABLE: &str = "TOLLGATE_SESSION";
/// The directory of all sessions, below the user's directory for state.
const SESSIONS_DIR: &str = "tollgate-sessions";
/// The name of a session that is given none.
const DEFAULT_NAME: &str = "default";
/// The maximum length of a name.
const MAX_NAME: usize = 32;

/// The directory of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionFolder {
    name: String,
    path: PathBuf,
}

/// The facts of a session, on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SessionRecord {
    /// The instant of its start.
    pub(super) started_at: Instant,
    /// The address on which its service listens on the network; none for a socket only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) listen: Option<String>,
    /// The scheduler inside the pilots; none if they are workers of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inside: Option<InsideRecord>,
    /// The instant of its end; none for a session that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<Instant>,
}

/// The scheduler inside the pilots of a session, on disk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InsideRecord {
    /// The scheduler.
    pub(super) kind: SchedulerKind,
    /// The address at which it listens.
    pub(super) address: IpAddr,
}

/// The lock of the command that starts or ends a session. Released when its process ends.
pub(super) struct SessionLock {
    _file: File,
}

/// Returns the session that this process belongs to.
pub(super) fn own_session() -> Option<String> {
    let name = env::var(SESSION_VARIABLE).ok()?;
    (!name.is_empty()).then_some(name)
}

impl SessionFolder {
    /// Returns the directory of a session that may not exist yet.
    ///
    /// # Errors
    /// If the name is no name of a session, or no variable names a directory.
    pub(super) fn new(name: &str) -> Result<Self, CliFailure> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let starts_well = name.starts_with(|letter: char| letter.is_ascii_lowercase());
        if !starts_well || !name.bytes().all(is_plain) || name.len() > MAX_NAME {
            return Err(SessionError::Name(name.to_owned()).into());
        }
        Ok(Self {
            name: name.to_owned(),
            path: all_sessions()?.join(name),
        })
    }

    /// Returns the directory that the name of a new session means.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn for_start(name: Option<&str>) -> Result<Self, CliFailure> {
        Self::new(name.unwrap_or(DEFAULT_NAME))
    }

    /// Returns the session with this name; without a name the one that this process belongs to, else
    /// the only one that goes on.
    ///
    /// # Errors
    /// If there is no such session.
    pub(super) fn find(name: Option<&str>) -> Result<Self, CliFailure> {
        let named = name.map(str::to_owned).or_else(own_session);
        let folder = match named {
            Some(name) => Self::new(&name)?,
            None => {
                let goes_on = |folder: &Self| {
                    let record = folder.record();
                    record.is_ok_and(|record| record.is_some_and(|record| record.goes_on()))
                };
                let mut live: Vec<Self> = Self::all()?.into_iter().filter(goes_on).collect();
                match (live.pop(), live.len()) {
                    (Some(only), 0) => only,
                    (_, _) => Self::new(DEFAULT_NAME)?,
                }
            }
        };
        match folder.record()? {
            Some(_) => Ok(folder),
            None => Err(SessionError::Unknown(folder.name).into()),
        }
    }

    /// Returns all sessions, by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub(super) fn all() -> Result<Vec<Self>, CliFailure> {
        let dir = all_sessions()?;
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| file_error(&dir, error))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let folders = names.into_iter().filter_map(|name| Self::new(&name).ok());
        Ok(folders
            .filter(|folder| folder.record_file().exists())
            .collect())
    }

    /// Returns the name of the session.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the data directory of the service.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns the directory with the sites and what is known of them.
    pub(super) fn sites_dir(&self) -> PathBuf {
        self.path.join("sites")
    }

    /// Returns the file of the sites.
    pub(super) fn sites_file(&self) -> PathBuf {
        self.sites_dir().join(tollgate_sites::SITES_FILE)
    }

    /// Returns the directory of the agents of the sites.
    pub(super) fn agents_dir(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// Returns the directory of the scheduler inside the pilots.
    pub(super) fn inside_dir(&self) -> PathBuf {
        self.path.join("inside")
    }

    /// Returns the scheduler inside the pilots. None if the session has none, or it was stopped.
    ///
    /// # Errors
    /// If its record cannot be read.
    pub(super) fn scheduler(&self) -> Result<Option<PersonalScheduler>, InsideError> {
        match PersonalScheduler::open(&self.inside_dir()) {
            Ok(scheduler) => Ok(Some(scheduler)),
            Err(InsideError::NoScheduler(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the file for messages of the process that holds the terminal.
    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Returns the socket of the terminal.
    pub(super) fn terminal(&self) -> PathBuf {
        data_dir::terminal(&self.data())
    }

    /// Returns the service of the session, for clients.
    pub(super) fn service(&self) -> ServiceAddressArgs {
        ServiceAddressArgs::in_data_dir(self.data())
    }

    fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    fn record_file(&self) -> PathBuf {
        self.path.join("session.json")
    }

    /// Creates the directories of the session, the links to this program, and `env`.
    ///
    /// # Errors
    /// If a directory or a link cannot be created.
    pub(super) fn create(&self, program: &Path, inside: bool) -> Result<(), CliFailure> {
        for dir in [self.data(), self.sites_dir(), self.bin()] {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(&dir);
            made.map_err(|error| file_error(&dir, error))?;
        }
        let names = FrontendTool::ALL.iter().map(|tool| tool.name());
        for name in names.chain(["tollgate"]) {
            let link = self.bin().join(name);
            // A link of an earlier session may lead to a program that has moved.
            let _ = fs::remove_file(&link);
            if inside && name != "tollgate" {
                // Jobs go to the scheduler inside the pilots.
                continue;
            }
            symlink(program, &link).map_err(|error| file_error(&link, error))?;
        }
        self.write_environment()
    }

    /// Writes `env`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write_environment(&self) -> Result<(), CliFailure> {
        let lines = self.environment().into_iter().map(|(name, value)| {
            let name = name.to_string_lossy();
            match value {
                Some(value) => format!("export {name}={}\n", quote(&value.to_string_lossy())),
                None => format!("unset {name}\n"),
            }
        });
        let (path, lines) = (self.path.join("env"), lines.collect::<String>());
        replace_private(&path, lines.as_bytes()).map_err(|error| file_error(&path, error))
    }

    /// Locks the session for a command that starts or ends it.
    ///
    /// # Errors
    /// If another command has the lock, or the file cannot be used.
    pub(super) fn lock(&self) -> Result<SessionLock, CliFailure> {
        let path = self.path.join("lock");
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| file_error(&self.path, error))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path);
        let file = file.map_err(|error| file_error(&path, error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(SessionLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(SessionError::Busy(self.name.clone()).into()),
            Err(error) => Err(file_error(&path, error.into())),
        }
    }

    /// Returns the facts of the session. None if it was never started.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn record(&self) -> Result<Option<SessionRecord>, CliFailure> {
        let path = self.record_file();
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(&path, error)),
            Ok(bytes) => {
                let record = serde_json::from_slice(&bytes);
                Ok(Some(
                    record.map_err(|error| file_error(&path, error.into()))?,
                ))
            }
        }
    }

    /// Writes down the start or the end of the session.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write_record(&self, record: &SessionRecord) -> Result<(), CliFailure> {
        let path = self.record_file();
        let bytes = serde_json::to_vec(record).expect("an own type is representable in JSON");
        replace_private(&path, &bytes).map_err(|error| file_error(&path, error))
    }

    /// Reads the sites of the session.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn sites(&self) -> Result<SitesFile, CliFailure> {
        Ok(SitesFile::read(&self.sites_file())?)
    }

    /// Removes the directory with all that is known of the session.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(super) fn remove(&self) -> Result<(), CliFailure> {
        fs::remove_dir_all(&self.path).map_err(|error| file_error(&self.path, error))
    }

    /// Returns the variables of the processes of the session. Those that name another service have no
    /// value.
    pub(super) fn environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let outer = env::var_os(ENGINE_PATH_VARIABLE).or_else(|| env::var_os("PATH"));
        let outer = outer.unwrap_or_default();
        let scheduler = self.scheduler().ok().flatten();
        let mut path = OsString::from(self.bin());
        if !outer.is_empty() {
            path.push(":");
            path.push(&outer);
        }
        if scheduler.is_some() {
            path.push(":");
            path.push(tollgate_inside::host::search_path());
        }
        let set = [
            (DATA_VARIABLE, self.data().into_os_string()),
            (SITES_VARIABLE, self.sites_dir().into_os_string()),
            (SESSION_VARIABLE, self.name.clone().into()),
            (ENGINE_PATH_VARIABLE, outer),
            ("PATH", path),
        ];
        let set = set
            .into_iter()
            .map(|(name, value)| (name.into(), Some(value)));
        let unset = REMOTE_VARIABLES.iter().map(|name| (name.into(), None));
        let mut all: Vec<_> = set.chain(unset).collect();
        if let Some(scheduler) = scheduler {
            for variable in CONFIG_VARIABLES {
                let outer = env::var_os(variable.outer).or_else(|| env::var_os(variable.name));
                all.push((variable.outer.into(), Some(outer.unwrap_or_default())));
            }
            let (name, value) = scheduler.config_variable();
            all.push((name.into(), Some(value.into())));
        }
        all
    }

    /// Gives a command the environment of the session.
    pub(super) fn enter(&self, command: &mut Command) {
        for (name, value) in self.environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

impl SessionRecord {
    /// Returns whether the session has not ended.
    pub(super) const fn goes_on(&self) -> bool {
        self.ended_at.is_none()
    }
}

fn all_sessions() -> Result<PathBuf, CliFailure> {
    Ok(user_dir("XDG_STATE_HOME", ".local/state")?.join(SESSIONS_DIR))
}

fn file_error(path: &Path, error: io::Error) -> CliFailure {
    let path = path.to_owned();
    SessionError::File { path, error }.into()
}
