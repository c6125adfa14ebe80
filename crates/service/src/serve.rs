//! A service from its start to its end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Mode;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tollgate_engine::Engine;
use tollgate_model::Instant;

use crate::access::{Access, Users};
use crate::accounts;
use crate::api::server::{About, Service, router, serve_unix};
use crate::core::Rules;
use crate::folder::{Folder, FolderError};
use crate::keeper::{self, Ask, Keeper, StartError};
use crate::scripts::Scripts;
use crate::store::{Reader, Store};

/// How often copies of scripts are looked through.
const SWEEP: Duration = Duration::from_secs(600);

/// Why a service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It cannot take up where it left off.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The folder is not as it must be for this.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Clients cannot be listened to.
    #[error("{}: cannot be listened on: {error}", socket.display())]
    Listen {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The engine was opened for one user, and the service is for all.
    #[error("the process that runs jobs was started for one user only, and still runs some")]
    OneUser,
    /// The system lacks something else.
    #[error("{action}: {error}")]
    System {
        /// What was being done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

impl ServeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(StartError::Store(error)) => error.hint(),
            Self::Folder(error) => error.hint(),
            Self::OneUser => {
                Some("once its jobs are over it ends by itself, and the next one is started")
            }
            Self::Start(_) | Self::Listen { .. } | Self::System { .. } => None,
        }
    }
}

/// Serves until it is told to stop by SIGTERM or SIGINT; `ready` is called once it answers. What
/// runs goes on without it, and is found again by the next one.
///
/// # Errors
/// If the store or the engine cannot be used, or the socket cannot be listened on.
pub fn serve<E: Engine + 'static>(
    folder: &Folder,
    mut engine: E,
    rules: &Rules,
    access: Access,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    if access.users == Users::All {
        folder.share()?;
        if !engine.capacity().map_err(StartError::from)?.other_users {
            return Err(ServeError::OneUser);
        }
    }
    // Whatever is made from here on, the store and what it grows by, is nobody else's to read.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let store = Store::open(&folder.store()).map_err(StartError::from)?;
    let reader = store.reader().map_err(StartError::from)?;
    let mut keeper = Keeper::new(store, engine, rules, Box::new(now)).map_err(StartError::from)?;
    if access.users == Users::All {
        let aside = accounts::looked_up_aside().map_err(StartError::Thread)?;
        keeper.run_as(aside);
    }
    keeper.limit_jobs(access.limits.jobs);
    let (door, thread) = keeper::start(keeper)?;
    let service = Service {
        door: door.clone(),
        reader: Arc::new(Mutex::new(reader)),
        about: Arc::new(About {
            policy: rules.policy.to_string(),
            market: rules.market.to_string(),
            since: now(),
        }),
        limits: access.limits,
        clock: now,
        scripts: Arc::new(Scripts::new(folder.scripts())),
    };
    let served = runtime()?.block_on(listen(folder, service, access, ready));
    door.ask(Ask::Stop);
    // It panics only where it has said why already.
    let _ = thread.join();
    served
}

fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| ServeError::System {
            action: "no threads can be started",
            error,
        })
}

async fn listen(
    folder: &Folder,
    service: Service,
    access: Access,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let socket = folder.socket();
    // The folder is locked, so whoever left this behind is gone.
    let _ = fs::remove_file(&socket);
    let failed = |error| ServeError::Listen {
        socket: socket.clone(),
        error,
    };
    let listener = UnixListener::bind(&socket).map_err(failed)?;
    let mode = match access.users {
        Users::Own => 0o600,
        Users::All => 0o666,
    };
    fs::set_permissions(&socket, Permissions::from_mode(mode)).map_err(failed)?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(sweep_scripts(
        Arc::clone(&service.scripts),
        Arc::clone(&service.reader),
    ));
    let serving = tokio::spawn(serve_unix(listener, router(service), access, stopped));
    ready();
    let asked = stop_signal().await;
    let _ = stop.send(true);
    let _ = serving.await;
    let _ = fs::remove_file(&socket);
    asked
}

/// Deletes copies of scripts that no job needs any more, for as long as the service is there.
async fn sweep_scripts(scripts: Arc<Scripts>, reader: Arc<Mutex<Reader>>) {
    let mut interval = tokio::time::interval(SWEEP);
    loop {
        interval.tick().await;
        let (scripts, reader) = (Arc::clone(&scripts), Arc::clone(&reader));
        let swept = tokio::task::spawn_blocking(move || {
            scripts.sweep(|| {
                let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                reader.programs_in_use().map_err(io::Error::other)
            })
        });
        if let Ok(Err(error)) = swept.await {
            eprintln!("tollgate: copies of scripts cannot be deleted: {error}");
        }
    }
}

async fn stop_signal() -> Result<(), ServeError> {
    let failed = |error| ServeError::System {
        action: "signals cannot be waited for",
        error,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The time by the clock on the wall. Before 1970 it stands still.
fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
