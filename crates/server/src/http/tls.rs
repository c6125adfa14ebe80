//! The server of a TCP port: always with TLS.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tollgate_client::certificate::fingerprint;
use tollgate_listen::{AddressPrefix, ConnectionLimit};
use tollgate_model::Instant;
use tracing::Instrument;

use super::connection::{ACCEPT_RETRY_DELAY, SHUTDOWN_TIMEOUT, serve_connection};
use crate::access::AccessRules;
use crate::net::authenticate::{AuthLayer, authenticate};
use crate::net::connection::{ConnectionInfo, MAX_UNAUTHENTICATED, UnauthenticatedPermit};
use crate::net::{AllowedHosts, CredentialStore};
use crate::permits::KeyedSemaphore;

/// Everything that the TCP server needs besides the router.
pub struct TcpContext {
    /// The TLS configuration.
    pub tls: Arc<ServerConfig>,
    /// Host names and origins that requests may name.
    pub hosts: AllowedHosts,
    /// Tokens and certificates.
    pub credentials: Arc<CredentialStore>,
    /// Access rules and limits.
    pub access: AccessRules,
    /// Connections of each user, including those of the Unix socket, without those of workers.
    pub permits: KeyedSemaphore<u32>,
    /// The clock.
    pub clock: fn() -> Instant,
}

/// Serves clients of a TCP port until `stop` is set.
pub async fn serve_tls(
    listener: TcpListener,
    router: Router,
    network: TcpContext,
    mut stop: watch::Receiver<bool>,
) {
    let acceptor = TlsAcceptor::from(network.tls);
    let access = network.access;
    let limit = ConnectionLimit::new(access.limits.unauthenticated, MAX_UNAUTHENTICATED);
    let limits = access.limits;
    let guard = AuthLayer {
        access,
        hosts: Arc::new(network.hosts),
        credentials: network.credentials,
        permits: network.permits,
        worker_permits: KeyedSemaphore::new(limits.workers),
        clock: network.clock,
    };
    let router = router.layer(from_fn_with_state(guard, authenticate));
    let (gone, here) = watch::channel(());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(permit) = limit.admit(AddressPrefix::from(from.ip()), &stream) else {
            tracing::warn!("connection refused: no file descriptor is left");
            continue;
        };
        let timeout = Duration::from_secs_f64(limits.request_s);
        let greeted = accept_tls(stream, acceptor.clone(), timeout, permit, router.clone());
        let (stop, here) = (stop.clone(), here.clone());
        let connection = async move {
            if let Some((stream, router)) = greeted.await {
                serve_connection(stream, router, timeout, stop).await;
            }
            drop(here);
        };
        tokio::spawn(connection.instrument(tracing::info_span!("tcp", peer = %from)));
    }
    drop(here);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone.closed()).await;
}

type ServerTlsStream = tokio_rustls::server::TlsStream<TcpStream>;

/// Performs the TLS handshake, within the time limit of a request head.
async fn accept_tls(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    time: Duration,
    permit: UnauthenticatedPermit,
    router: Router,
) -> Option<(ServerTlsStream, Router)> {
    // Responses are short, and clients wait for them.
    let _ = stream.set_nodelay(true);
    let local: IpAddr = stream.local_addr().ok()?.ip();
    let greeted = tokio::time::timeout(time, acceptor.accept(stream)).await;
    // The handshake itself reports a failure to the client.
    let stream = greeted.ok()?.ok()?;
    let presented = stream.get_ref().1.peer_certificates();
    let certificate = presented.and_then(|chain| fingerprint(chain.first()?).ok());
    let caller = Arc::new(ConnectionInfo::new(local, certificate, permit));
    Some((stream, router.layer(Extension(caller))))
}
