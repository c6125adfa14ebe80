//! The transport from a worker to its service.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tollgate_client::types::ErrorResponse;
use tollgate_client::{RemoteError, RemoteService, SecretToken};
use tollgate_engine::ServiceLocation;
use tollgate_store::data_dir;

use super::key::WorkerKey;

/// Protocol name of an upgraded connection.
pub(crate) const PROTOCOL: &str = "tollgate-worker";
/// Path of the worker endpoint.
pub(crate) const PATH: &str = "/v1/work";
/// Header of a request: the fingerprint of a worker's own key. Header of an answer: [`KEY_ISSUED`].
pub(crate) const KEY_HEADER: &str = "tollgate-key";
/// The service's answer that it knows the key of a worker from now on.
pub(crate) const KEY_ISSUED: &str = "issued";
/// Timeout for the service's answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that carries frames in both directions.
pub(super) type UpgradedStream = TokioIo<Upgraded>;

/// The address of the service.
#[derive(Clone, Debug)]
pub enum WorkerTransport {
    /// A Unix socket, which ssh may forward to another host.
    Socket(PathBuf),
    /// A remote service, over TCP with TLS.
    Remote(Box<RemoteService>),
    /// A remote service, for a worker that may get a key of its own.
    Keyed(Box<RemoteService>, Arc<WorkerKey>),
}

impl WorkerTransport {
    /// Returns where clients on this host find the service. None if a socket does not tell, because it is not
    /// in the service's data directory.
    pub(super) fn location(&self) -> Option<ServiceLocation> {
        match self {
            Self::Socket(socket) => {
                let data = std::path::absolute(socket.parent()?).ok()?;
                let is_own = socket.file_name() == data_dir::socket(&data).file_name();
                is_own.then_some(ServiceLocation::Here(data))
            }
            Self::Remote(remote) | Self::Keyed(remote, _) => Some(ServiceLocation::Elsewhere {
                url: format!("https://{}", remote.authority()),
                fingerprint: remote.fingerprint().map(|print| print.to_string()),
                authorities: remote
                    .authorities()
                    .and_then(|path| std::path::absolute(path).ok()),
            }),
        }
    }
}

/// An error of a connection to the service.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The socket cannot be reached.
    #[error("{}: cannot be reached: {error}", socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A remote service cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The connection broke.
    #[error("the connection to the service broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The service did not answer in time.
    #[error("the service does not answer")]
    Timeout,
    /// The request cannot be built.
    #[error("the request cannot be made: {0}")]
    Request(#[from] hyper::http::Error),
    /// The worker's own key cannot be stored.
    #[error("the worker's key cannot be stored: {0}")]
    Key(io::Error),
    /// The service refuses the connection.
    #[error("the service refuses the connection: {}", problem.error)]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The service's error message.
        problem: ErrorResponse,
    },
}

impl TransportError {
    /// Returns whether another try is of no use.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Refused { status, .. } => {
                matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
            }
            Self::Remote(RemoteError::Connect { .. }) => false,
            Self::Remote(error) => error.hint().is_some() || error.is_usage(),
            Self::Socket { .. }
            | Self::Broken(_)
            | Self::Timeout
            | Self::Request(_)
            | Self::Key(_) => false,
        }
    }

    /// Returns whether the service does not know the credential.
    fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::UNAUTHORIZED)
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => problem.hint.as_deref(),
            Self::Remote(error) => error.hint(),
            Self::Socket { .. }
            | Self::Broken(_)
            | Self::Timeout
            | Self::Request(_)
            | Self::Key(_) => None,
        }
    }
}

impl WorkerTransport {
    /// Opens a connection for frames.
    pub(super) async fn connect(&self) -> Result<UpgradedStream, TransportError> {
        match self {
            Self::Socket(socket) => {
                let stream = UnixStream::connect(socket).await;
                let stream = stream.map_err(|error| TransportError::Socket {
                    socket: socket.clone(),
                    error,
                })?;
                let host = HeaderValue::from_static("localhost");
                upgrade_with_timeout(stream, host, (None, None)).await
            }
            Self::Remote(remote) => connect_remote(remote, remote.token(), None).await,
            Self::Keyed(remote, key) => connect_keyed(remote, key).await,
        }
    }
}

/// Connects with the worker's key, or else with the token, for which it may get the key.
async fn connect_keyed(
    remote: &RemoteService,
    key: &WorkerKey,
) -> Result<UpgradedStream, TransportError> {
    if let Some(secret) = key.issued() {
        let connected = connect_remote(remote, Some(secret), None).await;
        let is_unknown = connected
            .as_ref()
            .is_err_and(TransportError::is_unauthorized);
        if !is_unknown || remote.token().is_none() {
            return connected;
        }
        key.mark_unknown().map_err(TransportError::Key)?;
    }
    connect_remote(remote, remote.token(), Some(key)).await
}

async fn connect_remote(
    remote: &RemoteService,
    token: Option<&SecretToken>,
    key: Option<&WorkerKey>,
) -> Result<UpgradedStream, TransportError> {
    let host = HeaderValue::from_str(remote.authority());
    let host = host.map_err(hyper::http::Error::from)?;
    let presented = token.map(|token| format!("Bearer {}", token.reveal()));
    let token = presented
        .map(|presented| HeaderValue::from_str(&presented))
        .transpose();
    let token = token.map_err(hyper::http::Error::from)?;
    upgrade_with_timeout(remote.connect().await?, host, (token, key)).await
}

async fn upgrade_with_timeout(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: HeaderValue,
    proof: (Option<HeaderValue>, Option<&WorkerKey>),
) -> Result<UpgradedStream, TransportError> {
    let upgraded = tokio::time::timeout(CONNECT_TIMEOUT, upgrade(stream, host, proof)).await;
    upgraded.unwrap_or(Err(TransportError::Timeout))
}

async fn upgrade(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: HeaderValue,
    (authorization, key): (Option<HeaderValue>, Option<&WorkerKey>),
) -> Result<UpgradedStream, TransportError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // The pending request fails with the broken connection.
        let _ = connection.with_upgrades().await;
    });
    let mut request = Request::builder()
        .method(Method::GET)
        .uri(PATH)
        .header(HOST, host)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, PROTOCOL)
        .body(Empty::<Bytes>::new())?;
    if let Some(mut value) = authorization {
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    if let Some(key) = key {
        let print = HeaderValue::from_str(&key.fingerprint().to_string());
        let print = print.map_err(hyper::http::Error::from)?;
        request.headers_mut().insert(KEY_HEADER, print);
    }
    let response = sender.send_request(request).await?;
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let issued = response.headers().get(KEY_HEADER);
        if let Some(key) = key.filter(|_| issued.is_some_and(|issued| issued == KEY_ISSUED)) {
            key.mark_issued().map_err(TransportError::Key)?;
        }
        return Ok(TokioIo::new(hyper::upgrade::on(response).await?));
    }
    let body = response.into_body().collect().await?.to_bytes();
    let problem = serde_json::from_slice(&body).unwrap_or_else(|_| ErrorResponse {
        error: format!("it answers {status}"),
        hint: None,
    });
    Err(TransportError::Refused { status, problem })
}
