//! What a worker is made of on a real host: its folder, its engine, its users.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tollgate_engine::{Engine, EngineError, LocalEngine, LocalSettings, User};

use super::dial::{self, DialError};
use super::hand::{Hand, Kit, Memory};
use super::roster::replace;
use super::route::Route;
use crate::accounts;
use crate::folder::{Folder, FolderError};

/// Random bytes of what tells a worker from every other.
const BYTES: usize = 16;

/// How a worker is set.
pub struct Settings {
    /// The way to the service.
    pub route: Route,
    /// What it is called.
    pub name: String,
    /// Whether root runs jobs of root.
    pub root_jobs: bool,
    /// How its engine is opened; how long tasks may go on alone, and how long they may take to end,
    /// follows from what the service says.
    pub engine: LocalSettings,
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Its folder is not as it must be.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What it has to remember cannot be read or kept.
    #[error("{}: {error}", path.display())]
    Memory {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Its own user has no name.
    #[error(transparent)]
    User(#[from] accounts::NoAccount),
    /// It works no more.
    #[error(transparent)]
    Dial(#[from] DialError),
}

impl WorkerError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Folder(error) => error.hint(),
            Self::Dial(DialError::Route(error)) => error.hint(),
            Self::Memory { .. } | Self::User(_) | Self::Dial(_) => None,
        }
    }
}

/// `worker.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Disk {
    identity: String,
    #[serde(flatten)]
    memory: Memory,
}

/// Works in a folder until SIGTERM or SIGINT, or until the service does not want this worker.
///
/// # Errors
/// If the folder cannot be used, the service cannot be spoken to at all, or does not want it.
pub fn work(folder: &Folder, settings: Settings) -> Result<(), WorkerError> {
    let me = rustix::process::geteuid();
    let all_users = match me.is_root().then(|| folder.share()) {
        // Other users run their scripts from here; root could do without.
        Some(Err(error)) if !settings.root_jobs => return Err(error.into()),
        Some(shared) => shared.is_ok(),
        None => false,
    };
    let path = folder.path().join("worker.json");
    let failed = |error| WorkerError::Memory {
        path: path.clone(),
        error,
    };
    let disk = read(&path).map_err(failed)?;
    let identity = disk.identity.clone();
    let calls = Arc::new(Notify::new());
    let kit = Kit {
        name: settings.name,
        user: accounts::name(me.as_raw())?,
        all_users,
        root_jobs: settings.root_jobs,
        open: open(settings.engine, all_users, Arc::clone(&calls)),
        run_as: Box::new(move |owner| run_as(owner, settings.root_jobs)),
        remember: Box::new(move |memory| keep(&path, &identity, memory)),
        identity: disk.identity,
    };
    let hand = Hand::new(kit, disk.memory);
    Ok(dial::work(settings.route, hand, calls)?)
}

type Open = Box<dyn FnMut(&super::Terms) -> Result<LocalEngine, EngineError> + Send>;

fn open(settings: LocalSettings, other_users: bool, calls: Arc<Notify>) -> Open {
    Box::new(move |terms| {
        let mut engine = LocalEngine::open(LocalSettings {
            other_users,
            lease: Some(terms.runner_lease()),
            grace: terms.stop(),
            ..settings.clone()
        })?;
        let calls = Arc::clone(&calls);
        engine.on_report(Arc::new(move || calls.notify_one()));
        Ok(engine)
    })
}

/// As whom a job runs here whose owner is called so at the service.
fn run_as(owner: &str, root_jobs: bool) -> Result<Option<User>, String> {
    let own = rustix::process::geteuid();
    if !own.is_root() {
        let name = accounts::name(own.as_raw()).map_err(|error| error.to_string())?;
        return match name == owner {
            true => Ok(None),
            false => Err(format!(
                "this worker runs jobs of {name} only, not those of {owner}"
            )),
        };
    }
    let user = accounts::by_name(owner).map_err(|error| error.to_string())?;
    if user == 0 && !root_jobs {
        return Err("this worker runs no jobs of root".to_owned());
    }
    accounts::any(user).map_err(|error| error.to_string())
}

fn read(path: &Path) -> io::Result<Disk> {
    match std::fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let disk = Disk {
                identity: draw()?,
                memory: Memory::default(),
            };
            keep(path, &disk.identity, &disk.memory)?;
            Ok(disk)
        }
        Err(error) => Err(error),
    }
}

fn keep(path: &Path, identity: &str, memory: &Memory) -> io::Result<()> {
    let disk = Disk {
        identity: identity.to_owned(),
        memory: memory.clone(),
    };
    replace(path, &serde_json::to_vec_pretty(&disk)?)
}

/// A name that nobody else has, and nobody guesses.
pub(crate) fn draw() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_the_same_when_it_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker.json");
        let first = read(&path).unwrap();
        let memory = Memory {
            service: Some("a".to_owned()),
            epoch: 7,
        };
        keep(&path, &first.identity, &memory).unwrap();
        let again = read(&path).unwrap();
        assert_eq!((again.identity, again.memory), (first.identity, memory));
        let other = tempfile::tempdir().unwrap();
        let other = read(&other.path().join("worker.json")).unwrap();
        assert_ne!(other.identity, read(&path).unwrap().identity);
    }

    #[test]
    fn nobody_s_jobs_are_run_as_somebody_else() {
        assert!(run_as("no-such-user-anywhere", true).is_err());
        let root = run_as("root", false);
        assert!(root.is_err(), "{root:?}");
    }
}
