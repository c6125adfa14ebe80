//! The sockets of a service, until it is asked to stop.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tollgate_client::certificate::{CertificateFiles, TlsCertificate};
use tollgate_engine::ServiceLocation;
use tollgate_store::StoreError;
use tollgate_store::data_dir::DataDir;
use tollgate_workers::PartCall;

use super::error::ServeError;
use super::starting::StartingService;
use crate::access::UserScope;
use crate::api::router::router;
use crate::api::state::ApiState;
use crate::config::TcpListenOptions;
use crate::controller::{ControllerHandle, ControllerRequest, StartError};
use crate::http::{TcpContext, UserConnections, serve_tls, serve_unix, serve_window};
use crate::net::{AllowedHosts, BoundAddress, CredentialStore, own_certificate, tls};
use crate::part_socket::{self, ChannelPartSink};
use crate::permits::KeyedSemaphore;
use crate::window::{ServiceWindow, WindowSetup, end_sessions_without_right};

/// Interval at which the service verifies that its data directory exists.
const DATA_DIR_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The TCP listener of a service that does not accept connections yet.
pub(super) struct BoundTcpListener {
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    hosts: AllowedHosts,
    bound: BoundAddress,
}

impl BoundTcpListener {
    /// Listens as `tcp` says.
    ///
    /// # Errors
    /// If the certificate cannot be read or made, or the address is taken.
    pub(super) async fn open(
        dir: &DataDir,
        tcp: TcpListenOptions,
        certificate: Option<TlsCertificate>,
        keyring: &CredentialStore,
    ) -> Result<Self, ServeError> {
        let hosts = tcp.hosts.with_own_name();
        let certificate = match (certificate, &tcp.files) {
            (Some(certificate), _) => certificate,
            (None, Some(files)) => TlsCertificate::read(files)?,
            (None, None) => {
                let files = CertificateFiles {
                    certificate: dir.certificate(),
                    key: dir.certificate_key(),
                };
                own_certificate::read_or_create(&files, &hosts.names, tcp.address.ip())?
            }
        };
        let fingerprint = certificate.fingerprint()?;
        let failed = |error| ServeError::Listen {
            place: tcp.address.to_string(),
            error,
        };
        let listener = TcpListener::bind(tcp.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let tls = tls::server_config(certificate, keyring.has_certificates())?;
        Ok(Self {
            listener,
            tls,
            hosts,
            bound: BoundAddress {
                address,
                fingerprint,
            },
        })
    }

    /// Returns where the nodes of a batch system find the service; None if it listens for its own host alone.
    pub(super) fn remote_location(&self) -> Option<ServiceLocation> {
        self.bound.remote_location()
    }
}

/// The listener of a window that does not accept browsers yet.
pub(super) struct BoundWindow {
    listener: TcpListener,
    pub(super) window: Arc<dyn ServiceWindow>,
}

impl BoundWindow {
    /// Listens as `setup` says.
    ///
    /// # Errors
    /// If the address is taken.
    pub(super) async fn open(setup: WindowSetup) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Listen {
            place: setup.address.to_string(),
            error,
        };
        let listener = TcpListener::bind(setup.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let window = (setup.make)(address);
        tracing::info!(%address, "the service serves its window: `tollgate open --web` prints a link");
        Ok(Self { listener, window })
    }
}

pub(super) async fn listen(
    dir: &DataDir,
    service: ApiState,
    starting: StartingService,
    (tcp, window): (Option<BoundTcpListener>, Option<BoundWindow>),
    ready: impl FnOnce(Option<BoundAddress>),
    checked: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), ServeError> {
    let (listener, socket) = starting.ready().await;
    let listener = UnixListener::from_std(listener).map_err(|error| ServeError::Listen {
        place: dir.socket().display().to_string(),
        error,
    })?;
    let access = service.access.clone();
    let permits = KeyedSemaphore::new(access.limits.connections);
    let keyring = Arc::clone(&service.credentials);
    let clock = service.clock;
    let log = service.log.clone();
    let router = router(service);
    let (stop, stopped) = watch::channel(false);
    let bound = tcp.as_ref().map(|tcp| tcp.bound);
    // `ready` comes before the first response, so that a client with a response can rely on it.
    ready(bound);
    let hosts = tcp.as_ref().map(|tcp| tcp.hosts.clone());
    let connections = UserConnections::new(
        router.clone(),
        hosts.unwrap_or_default(),
        access.clone(),
        permits.clone(),
        stopped.clone(),
    );
    let unix = serve_unix(listener, connections.clone(), stopped.clone());
    let mut serving = vec![tokio::spawn(unix)];
    if let Some(BoundWindow { listener, window }) = window {
        let limits = access.limits;
        tokio::spawn(end_sessions_without_right(
            Arc::clone(&window),
            access.clone(),
        ));
        let browsers = serve_window(listener, window, connections, limits, stopped.clone());
        serving.push(tokio::spawn(browsers));
    }
    if let Some(tcp) = tcp {
        let network = TcpContext {
            tls: tcp.tls,
            hosts: tcp.hosts,
            credentials: keyring,
            access,
            permits,
            clock,
        };
        serving.push(tokio::spawn(serve_tls(
            tcp.listener,
            router,
            network,
            stopped,
        )));
    }
    let result = tokio::select! {
        result = stop_signal() => result,
        gone = data_dir_gone(dir) => Err(gone),
        Err(damaged) = checked => Err(StartError::from(damaged).into()),
    };
    log.close();
    let _ = stop.send(true);
    for task in serving {
        let _ = task.await;
    }
    drop(socket);
    result
}

pub(super) fn listen_for_parts(
    dir: &DataDir,
    users: UserScope,
) -> Result<std::os::unix::net::UnixListener, ServeError> {
    let socket = dir.part_socket();
    let listener = part_socket::bind(&socket, users == UserScope::All);
    listener.map_err(|error| ServeError::Listen {
        place: socket.display().to_string(),
        error,
    })
}

/// Passes the requests of jobs on this host to the controller.
pub(super) async fn serve_parts(
    listener: std::os::unix::net::UnixListener,
    controller: ControllerHandle,
) {
    let (to, mut received) = tokio::sync::mpsc::channel(1);
    let serving = part_socket::serve(listener, to);
    let passing = async {
        while let Some(part) = received.recv().await {
            let sink = Box::new(ChannelPartSink(part.events));
            let call = PartCall::local(part.user, part.request, sink);
            controller.send(ControllerRequest::Part(Box::new(call)));
        }
    };
    if let (Err(error), ()) = tokio::join!(serving, passing) {
        tracing::error!(%error, "jobs cannot ask for processes on their other hosts");
    }
}

/// Returns once the data directory is gone.
async fn data_dir_gone(dir: &DataDir) -> ServeError {
    let mut interval = tokio::time::interval(DATA_DIR_CHECK_INTERVAL);
    while !dir.is_gone() {
        interval.tick().await;
    }
    ServeError::DataDirGone(dir.path().to_owned())
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
