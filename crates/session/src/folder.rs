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
//! | `bin` | links to the program by the names of the front ends |
//! | `lock` | locked by the command that starts or ends the session |
//! | `log` | messages of the process that holds the terminal |
//!
//! It stays when the session ends, so that a session of the same name has the history of its jobs.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tollgate_frontends::FrontendTool;
use tollgate_inside::{InsideError, PersonalScheduler};
use tollgate_sites::{SITES_FILE, SitesFile, user_dir};
use tollgate_store::data_dir;

use crate::error::SessionError;

/// The variable with the name of the session that a process belongs to.
pub const SESSION_VARIABLE: &str = "TOLLGATE_SESSION";
/// The directory of all sessions, below the user's directory for state.
const SESSIONS_DIR: &str = "tollgate-sessions";
/// The name of a session that is given none.
const DEFAULT_NAME: &str = "default";
/// The maximum length of a name.
const MAX_NAME: usize = 32;

/// The directory of a session.
#[derive(Clone, Debug)]
pub struct SessionFolder {
    name: String,
    path: PathBuf,
}

/// The lock of the command that starts or ends a session. Released when its process ends.
#[derive(Debug)]
pub struct SessionLock {
    _file: File,
}

/// Returns the session that this process belongs to.
pub fn own_session() -> Option<String> {
    let name = env::var(SESSION_VARIABLE).ok()?;
    (!name.is_empty()).then_some(name)
}

impl SessionFolder {
    /// Returns the directory of a session that may not exist yet.
    ///
    /// # Errors
    /// If the name is no name of a session, or no variable names a directory.
    fn new(name: &str) -> Result<Self, SessionError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let starts_well = name.starts_with(|letter: char| letter.is_ascii_lowercase());
        if !starts_well || !name.bytes().all(is_plain) || name.len() > MAX_NAME {
            return Err(SessionError::Name(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            path: all_sessions()?.join(name),
        })
    }

    /// Returns the directory that the name of a new session means.
    ///
    /// # Errors
    /// If the name is no name of a session, or no variable names a directory.
    pub(crate) fn for_start(name: Option<&str>) -> Result<Self, SessionError> {
        Self::new(name.unwrap_or(DEFAULT_NAME))
    }

    /// Returns the session with this name; without a name the one that this process belongs to, else
    /// the only one that goes on.
    ///
    /// # Errors
    /// If there is no such session.
    pub fn find(name: Option<&str>) -> Result<Self, SessionError> {
        let named = name.map(str::to_owned).or_else(own_session);
        let folder = match named {
            Some(name) => Self::new(&name)?,
            None => {
                let goes_on = |folder: &Self| folder.goes_on().is_ok_and(|goes_on| goes_on);
                let mut live: Vec<Self> = Self::all()?.into_iter().filter(goes_on).collect();
                match (live.pop(), live.len()) {
                    (Some(only), 0) => only,
                    (_, _) => Self::new(DEFAULT_NAME)?,
                }
            }
        };
        match folder.record()? {
            Some(_) => Ok(folder),
            None => Err(SessionError::Unknown(folder.name)),
        }
    }

    /// Returns all sessions, by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn all() -> Result<Vec<Self>, SessionError> {
        let dir = all_sessions()?;
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| SessionError::file(&dir, error))?,
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
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the data directory of the service.
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns the directory with the sites and what is known of them.
    pub fn sites_dir(&self) -> PathBuf {
        self.path.join("sites")
    }

    /// Returns the file of the sites.
    pub(crate) fn sites_file(&self) -> PathBuf {
        self.sites_dir().join(SITES_FILE)
    }

    /// Returns the directory of the agents of the sites.
    pub(crate) fn agents_dir(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// Returns the directory of the scheduler inside the pilots.
    pub(crate) fn inside_dir(&self) -> PathBuf {
        self.path.join("inside")
    }

    /// Returns the scheduler inside the pilots. None if the session has none, or it was stopped.
    ///
    /// # Errors
    /// If its record cannot be read.
    pub fn scheduler(&self) -> Result<Option<PersonalScheduler>, InsideError> {
        match PersonalScheduler::open(&self.inside_dir()) {
            Ok(scheduler) => Ok(Some(scheduler)),
            Err(InsideError::NoScheduler(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the file for messages of the process that holds the terminal.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Returns the socket of the terminal.
    pub(crate) fn terminal(&self) -> PathBuf {
        data_dir::terminal(&self.data())
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    pub(crate) fn record_file(&self) -> PathBuf {
        self.path.join("session.json")
    }

    pub(crate) fn environment_file(&self) -> PathBuf {
        self.path.join("env")
    }

    /// Creates the directories of the session, the links to the program, and `env`.
    ///
    /// # Errors
    /// If a directory or a link cannot be created.
    pub(crate) fn create(&self, program: &Path, inside: bool) -> Result<(), SessionError> {
        for dir in [self.data(), self.sites_dir(), self.bin()] {
            create_private(&dir)?;
        }
        let names = FrontendTool::all().map(FrontendTool::name);
        for name in names.chain(["tollgate"]) {
            let link = self.bin().join(name);
            // A link of an earlier session may lead to a program that has moved.
            let _ = fs::remove_file(&link);
            if inside && name != "tollgate" {
                // Jobs go to the scheduler inside the pilots.
                continue;
            }
            symlink(program, &link).map_err(|error| SessionError::file(&link, error))?;
        }
        self.write_environment()
    }

    /// Locks the session for a command that starts or ends it.
    ///
    /// # Errors
    /// If another command has the lock, or the file cannot be used.
    pub fn lock(&self) -> Result<SessionLock, SessionError> {
        create_private(&self.path)?;
        let path = self.path.join("lock");
        let failed = |error| SessionError::file(&path, error);
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(SessionLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(SessionError::Busy(self.name.clone())),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Reads the sites of the session.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sites(&self) -> Result<SitesFile, SessionError> {
        Ok(SitesFile::read(&self.sites_file())?)
    }

    /// Removes the directory with all that is known of the session.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(crate) fn remove(&self) -> Result<(), SessionError> {
        fs::remove_dir_all(&self.path).map_err(|error| SessionError::file(&self.path, error))
    }
}

/// Creates a directory that only its user can read, with its parents.
pub(crate) fn create_private(dir: &Path) -> Result<(), SessionError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    created.map_err(|error| SessionError::file(dir, error))
}

fn all_sessions() -> Result<PathBuf, SessionError> {
    Ok(user_dir("XDG_STATE_HOME", ".local/state")?.join(SESSIONS_DIR))
}

#[cfg(test)]
mod tests {
    use tollgate_model::Instant;

    use super::*;
    use crate::record::SessionRecord;

    fn folder(dir: &Path) -> SessionFolder {
        SessionFolder {
            name: "lab".to_owned(),
            path: dir.join("lab"),
        }
    }

    #[test]
    fn one_command_at_a_time_has_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let lock = folder.lock().unwrap();
        assert!(matches!(folder.lock(), Err(SessionError::Busy(name)) if name == "lab"));
        drop(lock);
        folder.lock().unwrap();
    }

    #[test]
    fn session_goes_on_from_its_start_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.create(Path::new("/bin/true"), false).unwrap();
        assert!(!folder.goes_on().unwrap());
        let started = SessionRecord {
            started_at: Instant::from_secs(7),
            listen: None,
            inside: None,
            ended_at: None,
        };
        folder.write_record(&started).unwrap();
        assert!(folder.goes_on().unwrap());
        assert_eq!(folder.record().unwrap(), Some(started.clone()));
        let ended = SessionRecord {
            ended_at: Some(Instant::from_secs(9)),
            ..started
        };
        folder.write_record(&ended).unwrap();
        assert!(!folder.goes_on().unwrap());
    }

    #[test]
    fn front_ends_are_links_unless_a_scheduler_is_inside_the_pilots() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        for inside in [false, true] {
            folder.create(Path::new("/bin/true"), inside).unwrap();
            let has = |name: &str| folder.bin().join(name).exists();
            assert!(has("tollgate"));
            assert_eq!((has("qsub"), has("sbatch")), (!inside, !inside));
        }
    }
}
