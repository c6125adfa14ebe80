//! A service that is not ready yet: log lines, and an answer to clients, while the state is restored.

use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::header::CONNECTION;
use axum::response::IntoResponse;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tollgate_host::FileIdentity;
use tollgate_store::RestoreProgress;
use tollgate_store::data_dir::DataDir;

use super::error::ServeError;
use crate::access::{AccessRules, UserScope};
use crate::api::error::ApiError;
use crate::http::{UserConnections, serve_unix};
use crate::net::AllowedHosts;
use crate::permits::KeyedSemaphore;

/// The time of a start without a message. Clients that connect meanwhile are answered by the service itself.
pub(super) const QUIET: Duration = Duration::from_secs(1);
/// The time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// The socket of a service, removed with this value if it is still the service's own.
#[derive(Debug)]
pub(super) struct ServiceSocket {
    path: PathBuf,
    identity: FileIdentity,
}

impl ServiceSocket {
    /// Listens at the socket of a data directory that this process has locked.
    fn bind(dir: &DataDir, users: UserScope) -> Result<(UnixListener, Self), ServeError> {
        let path = dir.socket();
        // The directory is locked, so the service that left this socket behind is gone.
        let _ = fs::remove_file(&path);
        let failed = |error| ServeError::Listen {
            place: path.display().to_string(),
            error,
        };
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let mode = match users {
            UserScope::Own => 0o600,
            UserScope::All => 0o666,
        };
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let identity = FileIdentity::of(&path).map_err(failed)?;
        Ok((listener, Self { path, identity }))
    }
}

impl Drop for ServiceSocket {
    fn drop(&mut self) {
        // The directory may have been replaced, and the name may stand for the socket of another service.
        let _ = self.identity.remove(&self.path);
    }
}

/// How far the start of a service is.
#[derive(Clone, Debug, Default)]
pub(super) struct StartProgress(Arc<Mutex<Option<RestoreProgress>>>);

impl StartProgress {
    /// Takes note of the restored steps.
    pub(super) fn note(&self, restored: RestoreProgress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(restored);
    }
}

/// Writes the progress as a clause: `restored 400 of 2000 steps`.
impl fmt::Display for StartProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => f.write_str("opening the store"),
            Some(RestoreProgress { n_done, n_steps }) => {
                write!(f, "restored {n_done} of {n_steps} steps")
            }
        }
    }
}

/// A service that is starting. Its socket is open: clients wait there, and get an answer after a second.
pub(super) struct StartingService {
    listener: UnixListener,
    socket: ServiceSocket,
    stop: watch::Sender<bool>,
    answering: JoinHandle<()>,
}

impl StartingService {
    /// Listens at the socket of the data directory. Clients that connect are answered once the start has taken as long
    /// as `quiet`.
    ///
    /// # Errors
    /// If the service cannot listen there.
    pub(super) fn open(
        dir: &DataDir,
        access: &AccessRules,
        progress: StartProgress,
        quiet: Duration,
        runtime: &Handle,
    ) -> Result<Self, ServeError> {
        let (listener, socket) = ServiceSocket::bind(dir, access.scope)?;
        let failed = |error| ServeError::Listen {
            place: socket.path.display().to_string(),
            error,
        };
        let own = listener.try_clone().map_err(failed)?;
        let _entered = runtime.enter();
        let own = tokio::net::UnixListener::from_std(own).map_err(failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let access = access.clone();
        let answering = runtime.spawn(async move {
            let is_ready = stopped.wait_for(|&stop| stop);
            if tokio::time::timeout(quiet, is_ready).await.is_ok() {
                return;
            }
            let permits = KeyedSemaphore::new(access.limits.connections);
            let router = answer_all(progress.clone());
            let hosts = AllowedHosts::default();
            let connections = UserConnections::new(router, hosts, access, permits, stopped.clone());
            let answers = serve_unix(own, connections, stopped);
            let log = log_progress(&progress, |line| tracing::info!("{line}"));
            tokio::select! {
                () = answers => {}
                () = log => {}
            }
            tracing::info!("the service is ready: {progress}");
        });
        Ok(Self {
            listener,
            socket,
            stop,
            answering,
        })
    }

    /// Ends the answers, and returns the listener. Clients that have connected since wait for the service itself.
    pub(super) async fn ready(self) -> (UnixListener, ServiceSocket) {
        let _ = self.stop.send(true);
        let _ = self.answering.await;
        (self.listener, self.socket)
    }
}

/// Logs the progress at once, and then every few seconds.
async fn log_progress(progress: &StartProgress, mut log: impl FnMut(&str)) {
    loop {
        log(&format!("the service is starting: {progress}"));
        tokio::time::sleep(LOG_INTERVAL).await;
    }
}

/// Returns a router that answers every request with the progress. Clients try again.
fn answer_all(progress: StartProgress) -> Router {
    Router::new().fallback(move || async move {
        let refused = ApiError::starting(&progress).into_response();
        ([(CONNECTION, "close")], refused)
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_is_logged_every_few_seconds() {
        let progress = StartProgress::default();
        let began = Instant::now();
        let mut lines = Vec::new();
        let log = log_progress(&progress, |line| {
            let n_done = 100 * (lines.len() as u64 + 1);
            lines.push((began.elapsed().as_secs(), line.to_owned()));
            progress.note(RestoreProgress {
                n_done,
                n_steps: 900,
            });
        });
        assert!(
            tokio::time::timeout(Duration::from_secs(11), log)
                .await
                .is_err()
        );
        let expected = [
            (0, "the service is starting: opening the store"),
            (5, "the service is starting: restored 100 of 900 steps"),
            (10, "the service is starting: restored 200 of 900 steps"),
        ];
        assert_eq!(lines, expected.map(|(at, line)| (at, line.to_owned())));
    }

    /// Sends a request, and returns the whole answer.
    async fn get(socket: &std::path::Path) -> String {
        let mut stream = UnixStream::connect(socket).await.unwrap();
        let request = b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn clients_must_try_again_until_the_service_takes_the_socket() {
        let dir = tempfile::tempdir().unwrap();
        let dir = DataDir::lock(dir.path()).unwrap();
        let progress = StartProgress::default();
        progress.note(RestoreProgress {
            n_done: 4,
            n_steps: 9,
        });
        let access = AccessRules::default();
        let handle = Handle::current();
        let starting = StartingService::open(&dir, &access, progress, Duration::ZERO, &handle);
        let starting = starting.unwrap();
        let answer = get(&dir.socket()).await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
        let message = "the service is starting: restored 4 of 9 steps";
        assert!(answer.contains(message), "{answer}");
        let (listener, socket) = starting.ready().await;
        let client = std::os::unix::net::UnixStream::connect(dir.socket());
        client.expect("the socket stays open");
        listener.accept().expect("the client waits for the service");
        drop(socket);
        assert!(!dir.socket().exists());
    }
}
