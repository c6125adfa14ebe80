//! A service from its start to its end.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tollgate_engine::Engine;
use tollgate_model::Instant;

use crate::api::server::{About, Admit, Peer, Service, router, serve_unix};
use crate::core::Rules;
use crate::folder::Folder;
use crate::keeper::{self, Ask, Keeper, StartError};
use crate::scripts::Scripts;
use crate::store::Store;

/// Why a service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It cannot take up where it left off.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Clients cannot be listened to.
    #[error("{}: cannot be listened on: {error}", socket.display())]
    Listen {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The system lacks something else.
    #[error("{action}: {error}")]
    System {
        /// What was being done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Serves until it is told to stop by SIGTERM or SIGINT; `ready` is called once it answers. What
/// runs goes on without it, and is found again by the next one.
///
/// # Errors
/// If the store or the engine cannot be used, or the socket cannot be listened on.
pub fn serve<E: Engine + 'static>(
    folder: &Folder,
    engine: E,
    rules: &Rules,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let store = Store::open(&folder.store()).map_err(StartError::from)?;
    let reader = store.reader().map_err(StartError::from)?;
    let keeper = Keeper::new(store, engine, rules, Box::new(now)).map_err(StartError::from)?;
    let (door, thread) = keeper::start(keeper)?;
    let service = Service {
        door: door.clone(),
        reader: Arc::new(Mutex::new(reader)),
        about: Arc::new(About {
            policy: rules.policy.to_string(),
            market: rules.market.to_string(),
            since: now(),
        }),
        clock: now,
        scripts: Arc::new(Scripts::new(folder.scripts())),
    };
    let served = runtime()?.block_on(listen(folder, service, ready));
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

async fn listen(folder: &Folder, service: Service, ready: impl FnOnce()) -> Result<(), ServeError> {
    let socket = folder.socket();
    // The folder is locked, so whoever left this behind is gone.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(|error| ServeError::Listen {
        socket: socket.clone(),
        error,
    })?;
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(serve_unix(listener, router(service), admit(), stopped));
    ready();
    let asked = stop_signal().await;
    let _ = stop.send(true);
    let _ = serving.await;
    let _ = std::fs::remove_file(&socket);
    asked
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

/// The service's own user may do everything; root may look and act, but its jobs would run as
/// somebody else.
fn admit() -> Admit {
    let own = rustix::process::geteuid().as_raw();
    Arc::new(move |user| Peer {
        user,
        operator: user == own || user == 0,
        may_submit: user == own,
    })
}

/// The time by the clock on the wall. Before 1970 it stands still.
fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
