//! The worker daemon on a real host: its directory, its engine, its users.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tollgate_client::timestamp::format_iso;
use tollgate_engine::{BootTime, Engine, EngineError, LaunchUser, SpreadAccess};
use tollgate_host::{StateFileError, read_state_file, replace_private};
use tollgate_model::Instant;
use tollgate_presence::PresenceError;
use tollgate_runner::{LocalEngine, LocalEngineConfig};
use tollgate_store::data_dir::random_identity;
use tollgate_store::{DataDir, DataDirError};
use tollgate_workers::LeaseTimings;
use tollgate_workers::agent::{AgentConfig, AgentPersistentState, EngineProbe, WorkerAgent};
use tollgate_workers::departure::WorkerEnd;

use super::connector::{self, ConnectError, DepartureSignals};
use super::desktop::{self, DesktopWorkerConfig};
use super::key::WorkerKey;
use super::probe;
use super::transport::WorkerTransport;
use crate::wall_clock::now;
use crate::{os_users, part_socket};

/// Time that a pilot waits for its runner to end. It exceeds the time that tasks have to end.
const RUNNER_TIMEOUT: Duration = Duration::from_secs(10);

/// Configuration of a worker daemon.
pub struct WorkerDaemonConfig {
    /// The transport to the service.
    pub transport: WorkerTransport,
    /// The worker's name.
    pub name: String,
    /// Whether root runs jobs of root.
    pub root_jobs: bool,
    /// How the worker leaves.
    pub departure: DepartureConfig,
    /// How tasks give way to the people who work at the host; None if no one does.
    pub desktop: Option<DesktopWorkerConfig>,
    /// Configuration of the engine. The lease and the time to end a task follow from the service's
    /// grace period.
    pub engine: LocalEngineConfig,
}

/// The departure of a worker, and what it tells its tasks about itself.
#[derive(Clone, Debug, Default)]
pub struct DepartureConfig {
    /// Whether the worker is a pilot: a worker inside a job of another scheduler. It leaves at more
    /// signals, leaves when the service retires it, and waits for its runner.
    pub is_pilot: bool,
    /// The instant at which the worker's host ends it, if it is known.
    pub until: Option<Instant>,
    /// Time without a running attempt after which the worker leaves if no job waits.
    pub max_idle: Option<Duration>,
    /// Name of the site that the worker is at.
    pub site: Option<String>,
    /// Environment variables that the worker adds to those of every task.
    pub environment: Vec<(OsString, OsString)>,
}

impl DepartureConfig {
    /// Returns the known end of the worker.
    fn end(&self) -> Option<WorkerEnd> {
        let until = self.until?;
        let left = u64::try_from(until.since(now()).as_micros()).unwrap_or(0);
        Some(WorkerEnd {
            until,
            since_boot: BootTime::now().since_boot() + Duration::from_micros(left),
        })
    }

    /// Returns the environment variables of tasks that describe a worker with this end.
    fn environment(&self, name: &str, until: Option<Instant>) -> Vec<(OsString, OsString)> {
        let until = until.map(format_iso);
        let described = [
            ("TOLLGATE_WORKER", Some(name.to_owned())),
            ("TOLLGATE_SITE", self.site.clone()),
            ("TOLLGATE_UNTIL", until),
        ];
        let known = described.into_iter();
        let known = known.filter_map(|(name, value)| Some((name.into(), value?.into())));
        self.environment.iter().cloned().chain(known).collect()
    }
}

/// An error that keeps a worker daemon from running.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The directory is not usable.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// The worker's state cannot be read or stored.
    #[error(transparent)]
    State(#[from] StateFileError),
    /// The worker's key, or the program itself, cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The worker's own user has no name.
    #[error(transparent)]
    User(#[from] os_users::UserLookupError),
    /// A pilot left without ever having been registered.
    #[error("the service registered this pilot at no time")]
    NeverRegistered,
    /// The use of the host cannot be observed.
    #[error(transparent)]
    Presence(#[from] PresenceError),
    /// The connection loop failed.
    #[error(transparent)]
    Dial(#[from] ConnectError),
}

impl WorkerError {
    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Folder(error) => error.hint(),
            Self::Dial(ConnectError::Route(error)) => error.hint(),
            Self::NeverRegistered => {
                Some("`tollgate site check` says whether this host reaches the service")
            }
            Self::State(StateFileError::Contents { .. }) => Some(
                "stop the worker and remove the file: the worker registers as a new one, and its jobs are lost",
            ),
            Self::Presence(PresenceError::NoSource { .. }) => Some(
                "run it as root or in the group `input`, or name a command: `--presence exec:CMD`; with `--presence none` tasks never give way",
            ),
            Self::Presence(PresenceError::Thread(_))
            | Self::State(_)
            | Self::File { .. }
            | Self::User(_)
            | Self::Dial(_) => None,
        }
    }
}

/// The content of `worker.json`.
#[derive(Debug, Serialize, Deserialize)]
struct WorkerStateFile {
    identity: String,
    #[serde(flatten)]
    state: AgentPersistentState,
}

/// Runs a worker in its directory until a signal asks it to leave, it leaves by itself, or the
/// service refuses it.
///
/// # Errors
/// If the directory is not usable, or the service cannot be reached in any way or refuses the
/// worker.
pub fn run(dir: &DataDir, settings: WorkerDaemonConfig) -> Result<(), WorkerError> {
    let me = rustix::process::geteuid();
    // Root has prepared the directory, and has dropped its privileges since.
    let has_starter = settings.engine.starter.is_some();
    let all_users = match (me.is_root() || has_starter).then(|| dir.open_to_users()) {
        // Other users run their scripts from this directory; root could do without.
        Some(Err(error)) if !settings.root_jobs => return Err(error.into()),
        Some(shared) => shared.is_ok(),
        None => false,
    };
    let path = dir.path().join("worker.json");
    let disk = read_state(&path)?;
    let identity = disk.identity.clone();
    let calls = Arc::new(Notify::new());
    let departure = settings.departure;
    let is_pilot = departure.is_pilot;
    let access = SpreadAccess {
        program: std::env::current_exe().map_err(|error| WorkerError::File {
            path: "/proc/self/exe".into(),
            error,
        })?,
        socket: dir.part_socket(),
        service: settings.transport.location(),
    };
    let desktop = settings.desktop.as_ref().map(desktop::watch).transpose()?;
    let (desktop, changes, monitor) = match desktop {
        Some(watched) => (Some(watched.settings), watched.changes, watched.monitor),
        None => (None, None, None),
    };
    let parts = listen_for_parts(&access.socket, all_users);
    let kit = AgentConfig {
        environment: {
            let (name, departure) = (settings.name.clone(), departure.clone());
            Box::new(move |until| departure.environment(&name, until))
        },
        end: departure.end(),
        site: departure.site,
        max_idle: departure.max_idle,
        is_pilot,
        desktop,
        access,
        name: settings.name,
        user: os_users::name(me.as_raw())?,
        all_users,
        root_jobs: settings.root_jobs,
        probe: probe_of(&settings.engine, dir),
        open_engine: engine_opener(settings.engine, all_users, Arc::clone(&calls)),
        resolve_owner: Box::new(move |owner| run_as(owner, settings.root_jobs, has_starter)),
        write_state: Box::new(move |memory| write_state(&path, &identity, memory)),
        identity: disk.identity,
    };
    let mut worker_agent = WorkerAgent::new(kit, disk.state);
    let signals = match is_pilot {
        true => DepartureSignals::Pilot,
        false => DepartureSignals::Usual,
    };
    let done = connector::run(
        keyed(dir, settings.transport)?,
        &mut worker_agent,
        signals,
        calls,
        parts,
        changes,
    );
    drop(monitor);
    if let Some(engine) = worker_agent.engine().filter(|_| is_pilot) {
        // The scheduler may give the host to another job as soon as the pilot has ended.
        if !engine.stop_runner(RUNNER_TIMEOUT) {
            tracing::warn!("the runner has not ended in time");
        }
    }
    done?;
    match is_pilot && !worker_agent.was_registered() {
        true => Err(WorkerError::NeverRegistered),
        false => Ok(()),
    }
}

/// Returns the probe of an engine; None if a starter runs tasks of other users only.
fn probe_of(settings: &LocalEngineConfig, dir: &DataDir) -> Option<EngineProbe<LocalEngine>> {
    let program = settings.runner.first()?.clone();
    let place = dir.path().to_owned();
    let is_own = settings.starter.is_none();
    is_own.then(|| -> EngineProbe<LocalEngine> {
        Box::new(move |engine| {
            let probed = probe::run(engine, probe::PROBE, &program, &place);
            probed.map_err(|error| error.to_string())
        })
    })
}

/// Returns the transport with the worker's own key. Over a socket the system names the user that connects.
fn keyed(dir: &DataDir, transport: WorkerTransport) -> Result<WorkerTransport, WorkerError> {
    match transport {
        WorkerTransport::Remote(remote) => {
            let key = WorkerKey::open(dir).map_err(|error| WorkerError::File {
                path: dir.path().join("key"),
                error,
            })?;
            Ok(WorkerTransport::Keyed(remote, Arc::new(key)))
        }
        WorkerTransport::Socket(_) | WorkerTransport::Keyed(..) => Ok(transport),
    }
}

/// Listens for the requests of jobs on this host. A worker works without, for jobs that need no other host.
fn listen_for_parts(socket: &Path, all_users: bool) -> Option<UnixListener> {
    let listener = part_socket::bind(socket, all_users);
    let failed = |error: &io::Error| {
        let socket = socket.display();
        tracing::warn!(%socket, %error, "jobs here cannot start processes on their other hosts");
    };
    listener.inspect_err(failed).ok()
}

type LocalEngineOpener = Box<dyn FnMut(&LeaseTimings) -> Result<LocalEngine, EngineError> + Send>;

fn engine_opener(
    settings: LocalEngineConfig,
    other_users: bool,
    calls: Arc<Notify>,
) -> LocalEngineOpener {
    Box::new(move |timings| {
        let mut engine = LocalEngine::open(LocalEngineConfig {
            other_users,
            lease: Some(timings.runner_lease()),
            grace: timings.stop_timeout(),
            ..settings.clone()
        })?;
        let calls = Arc::clone(&calls);
        engine.on_report(Arc::new(move || calls.notify_one()));
        Ok(engine)
    })
}

/// Returns the local user that runs the jobs of `owner`, a name at the service; None for the
/// worker's own user. With a starter, the worker can run jobs of every user, whatever its own user
/// is.
fn run_as(owner: &str, root_jobs: bool, has_starter: bool) -> Result<Option<LaunchUser>, String> {
    let own = rustix::process::geteuid();
    if !own.is_root() && !has_starter {
        let name = os_users::name(own.as_raw()).map_err(|error| error.to_string())?;
        return match name == owner {
            true => Ok(None),
            false => Err(format!(
                "this worker runs jobs of {name} only, not those of {owner}"
            )),
        };
    }
    let user = os_users::by_name(owner).map_err(|error| error.to_string())?;
    if user == 0 && !root_jobs {
        return Err("this worker runs no jobs of root".to_owned());
    }
    os_users::any_user(user).map_err(|error| error.to_string())
}

fn read_state(path: &Path) -> Result<WorkerStateFile, StateFileError> {
    if let Some(disk) = read_state_file(path, |text| serde_json::from_str(text))? {
        return Ok(disk);
    }
    let new = random_identity().and_then(|identity| {
        let state = AgentPersistentState::default();
        write_state(path, &identity, &state)?;
        Ok(WorkerStateFile { identity, state })
    });
    new.map_err(|error| StateFileError::Write {
        path: path.to_owned(),
        error,
    })
}

fn write_state(path: &Path, identity: &str, memory: &AgentPersistentState) -> io::Result<()> {
    let disk = WorkerStateFile {
        identity: identity.to_owned(),
        state: memory.clone(),
    };
    replace_private(path, &serde_json::to_vec_pretty(&disk)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_keeps_its_identity_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker.json");
        let first = read_state(&path).unwrap();
        let memory = AgentPersistentState {
            service: Some("a".to_owned()),
            incarnation: 7,
            until: Some(Instant::from_secs(9)),
        };
        write_state(&path, &first.identity, &memory).unwrap();
        let again = read_state(&path).unwrap();
        assert_eq!((again.identity, again.state), (first.identity, memory));
        let other = tempfile::tempdir().unwrap();
        let other = read_state(&other.path().join("worker.json")).unwrap();
        assert_ne!(other.identity, read_state(&path).unwrap().identity);
    }

    #[test]
    fn jobs_never_run_as_a_different_user() {
        assert!(run_as("no-such-user-anywhere", true, false).is_err());
        let root = run_as("root", false, false);
        assert!(root.is_err(), "{root:?}");
    }
}
