//! One connection to a service.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::UnixStream;

use crate::{ClientError, RemoteService, SecretToken};

/// The header with the key of a request that may be repeated.
pub const KEY_HEADER: &str = "idempotency-key";
/// The header with the last event that a client has received.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Where a service listens.
#[derive(Clone, Debug)]
pub enum ServiceTarget {
    /// At a Unix socket.
    Socket(PathBuf),
    /// On another host.
    Remote(RemoteService),
    /// In this process.
    InProcess(Arc<dyn InProcessService>),
}

/// A service in the same process, as one user has it.
pub trait InProcessService: std::fmt::Debug + Send + Sync {
    /// Returns the client's end of a new connection of the user. It is closed at once if the service stops.
    fn connect(&self) -> DuplexStream;
}

/// A request that can be sent again.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Bytes,
    /// The key with which the service recognises the request.
    pub(crate) key: Option<String>,
    /// The last event that was received.
    pub(crate) last_event: Option<String>,
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) sender: http1::SendRequest<Full<Bytes>>,
}

/// A request without a response.
pub(crate) struct SendFailure {
    pub(crate) error: ClientError,
    /// Whether the service may have received the request.
    pub(crate) may_be_received: bool,
}

impl<'a> ApiRequest<'a> {
    pub(crate) const fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: Bytes::new(),
            key: None,
            last_event: None,
        }
    }

    /// Returns whether the request changes nothing more if the service receives it twice.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.method == Method::GET || self.key.is_some()
    }
}

impl ServiceTarget {
    /// Connects to the service.
    pub(crate) async fn connect(&self) -> Result<Connection, ClientError> {
        match self {
            Self::Remote(remote) => Connection::open(remote.connect().await?).await,
            Self::InProcess(service) => Connection::open(service.connect()).await,
            Self::Socket(socket) => {
                let failed = |error: io::Error| {
                    let place = socket.display().to_string();
                    let no_service = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
                    match no_service.contains(&error.kind()) {
                        true => ClientError::NoService { place },
                        false => ClientError::Connect { place, error },
                    }
                };
                let stream = UnixStream::connect(socket).await.map_err(failed)?;
                Connection::open(stream).await
            }
        }
    }

    /// Builds a request with the headers of this service.
    pub(crate) fn request(
        &self,
        request: &ApiRequest<'_>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let (host, token) = match self {
            Self::Socket(_) | Self::InProcess(_) => ("localhost", None),
            Self::Remote(remote) => (remote.authority(), remote.token()),
        };
        let mut built = Request::builder()
            .method(request.method.clone())
            .uri(request.path)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &request.key {
            built = built.header(KEY_HEADER, key);
        }
        if let Some(event) = &request.last_event {
            built = built.header(LAST_EVENT, event);
        }
        let mut built = built.body(Full::new(request.body.clone()))?;
        if let Some(token) = token {
            built.headers_mut().insert(AUTHORIZATION, bearer(token)?);
        }
        Ok(built)
    }
}

impl Connection {
    async fn open(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, ClientError> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // A pending request reports the broken connection itself.
            let _ = connection.with_upgrades().await;
        });
        Ok(Self { sender })
    }

    /// Sends a request and returns the head of its response.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendFailure> {
        let ready = self.sender.ready().await;
        ready.map_err(|error| SendFailure::before(error.into()))?;
        let sent = self.sender.try_send_request(request).await;
        sent.map_err(|mut failed| SendFailure {
            may_be_received: failed.take_message().is_none(),
            error: failed.into_error().into(),
        })
    }
}

impl SendFailure {
    /// Returns the failure of a request that was not sent.
    pub(crate) const fn before(error: ClientError) -> Self {
        Self {
            error,
            may_be_received: false,
        }
    }

    /// Returns the failure of a request that the service may have received.
    pub(crate) const fn after(error: ClientError) -> Self {
        Self {
            error,
            may_be_received: true,
        }
    }
}

fn bearer(token: &SecretToken) -> Result<HeaderValue, ClientError> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
    let mut value = value.map_err(hyper::http::Error::from)?;
    value.set_sensitive(true);
    Ok(value)
}
