//! The transport from a worker to its service.

use std::io;
use std::path::PathBuf;
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
use tollgate_client::{RemoteError, RemoteService};

/// Protocol name of an upgraded connection.
pub(crate) const PROTOCOL: &str = "tollgate-worker";
/// Path of the worker endpoint.
pub(crate) const PATH: &str = "/v1/work";
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
            Self::Socket { .. } | Self::Broken(_) | Self::Timeout | Self::Request(_) => false,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => problem.hint.as_deref(),
            Self::Remote(error) => error.hint(),
            Self::Socket { .. } | Self::Broken(_) | Self::Timeout | Self::Request(_) => None,
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
                upgrade_with_timeout(stream, HeaderValue::from_static("localhost"), None).await
            }
            Self::Remote(remote) => {
                let host = HeaderValue::from_str(remote.authority());
                let host = host.map_err(hyper::http::Error::from)?;
                let presented = remote
                    .token()
                    .map(|token| format!("Bearer {}", token.reveal()));
                let token = presented
                    .map(|presented| HeaderValue::from_str(&presented))
                    .transpose();
                let token = token.map_err(hyper::http::Error::from)?;
                upgrade_with_timeout(remote.connect().await?, host, token).await
            }
        }
    }
}

async fn upgrade_with_timeout(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
) -> Result<UpgradedStream, TransportError> {
    let asked = tokio::time::timeout(CONNECT_TIMEOUT, upgrade(stream, host, authorization)).await;
    asked.unwrap_or(Err(TransportError::Timeout))
}

async fn upgrade(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
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
    let response = sender.send_request(request).await?;
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(TokioIo::new(hyper::upgrade::on(response).await?));
    }
    let body = response.into_body().collect().await?.to_bytes();
    let problem = serde_json::from_slice(&body).unwrap_or_else(|_| ErrorResponse {
        error: format!("it answers {status}"),
        hint: None,
    });
    Err(TransportError::Refused { status, problem })
}
