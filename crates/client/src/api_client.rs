//! Requests to a service, one after the other.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::types::ErrorResponse;
use crate::{RemoteError, RemoteService, SecretToken};

/// A connection to a service.
pub struct ApiClient {
    pub(crate) runtime: Runtime,
    pub(crate) sender: http1::SendRequest<Full<Bytes>>,
    /// The `host` header.
    host: HeaderValue,
    /// The `authorization` header.
    authorization: Option<HeaderValue>,
    /// Maximum time of a request; None if it may take any time.
    time_limit: Option<Duration>,
}

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No service listens on the socket.
    #[error("{place}: no service answers")]
    NoService {
        /// The socket.
        place: String,
    },
    /// The socket cannot be reached.
    #[error("{place}: cannot be reached: {error}")]
    Connect {
        /// The socket.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// The remote service cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The client's runtime cannot be started.
    #[error("the client cannot start: {0}")]
    Runtime(io::Error),
    /// The connection broke.
    #[error("the connection to the service broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The service did not answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The service returned an error.
    #[error("{}", problem.error)]
    Refused {
        /// HTTP status.
        status: StatusCode,
        /// Body of the error response.
        problem: ErrorResponse,
    },
    /// The response is from an incompatible version.
    #[error("the answer of the service cannot be read by this version: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    /// The request cannot be built.
    #[error("the request cannot be made: {0}")]
    Request(#[from] hyper::http::Error),
}

impl ApiClient {
    /// Connects to the service at a Unix socket.
    ///
    /// # Errors
    /// If no service listens there.
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let failed = |error: io::Error| {
            let place = socket.display().to_string();
            let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
            if nobody.contains(&error.kind()) {
                return ClientError::NoService { place };
            }
            ClientError::Connect { place, error }
        };
        let runtime = runtime()?;
        let stream = runtime
            .block_on(UnixStream::connect(socket))
            .map_err(failed)?;
        Self::handshake(runtime, stream, HeaderValue::from_static("localhost"), None)
    }

    /// Connects to a remote service.
    ///
    /// # Errors
    /// If the service cannot be reached, or fails the authentication.
    pub fn connect_to(remote: &RemoteService) -> Result<Self, ClientError> {
        let host = HeaderValue::from_str(remote.authority()).map_err(hyper::http::Error::from)?;
        let presented = |token: &SecretToken| {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        };
        let authorization = remote.token().map(presented).transpose();
        let authorization = authorization.map_err(hyper::http::Error::from)?;
        let runtime = runtime()?;
        let stream = runtime.block_on(remote.connect())?;
        Self::handshake(runtime, stream, host, authorization)
    }

    fn handshake(
        runtime: Runtime,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        host: HeaderValue,
        authorization: Option<HeaderValue>,
    ) -> Result<Self, ClientError> {
        let (sender, connection) = runtime.block_on(http1::handshake(TokioIo::new(stream)))?;
        runtime.spawn(async move {
            // A pending request reports the broken connection itself.
            let _ = connection.with_upgrades().await;
        });
        Ok(Self {
            runtime,
            sender,
            host,
            authorization,
            time_limit: None,
        })
    }

    /// Limits the time of each GET and POST request from now on.
    pub fn limit_time(&mut self, limit: Duration) {
        self.time_limit = Some(limit);
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, Bytes::new())
    }

    /// Sends a POST request.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body)?;
        self.send(Method::POST, path, Bytes::from(body))
    }

    /// Reads a stream of events and hands each, by its name and its data, to `on_event`, until the stream
    /// ends.
    ///
    /// # Errors
    /// If the stream breaks, or the service returns an error.
    pub fn stream(
        &mut self,
        path: &str,
        mut on_event: impl FnMut(&str, &str),
    ) -> Result<(), ClientError> {
        let request = self.request(Method::GET, path, Bytes::new())?;
        let Self {
            runtime, sender, ..
        } = self;
        let (status, mut body) = runtime.block_on(async {
            let response = sender.send_request(request).await?;
            Ok::<_, hyper::Error>((response.status(), response.into_body()))
        })?;
        if !status.is_success() {
            let body = runtime.block_on(body.collect())?.to_bytes();
            return Err(refusal(status, &body));
        }
        let mut text = Vec::new();
        while let Some(frame) = runtime.block_on(body.frame()) {
            text.extend(frame?.into_data().unwrap_or_default());
            while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = text.drain(..end + 2).collect();
                let event = String::from_utf8_lossy(&event);
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                // A comment is a heartbeat.
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    on_event(name, data);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        if let Some(presented) = &self.authorization {
            request
                .headers_mut()
                .insert(AUTHORIZATION, presented.clone());
        }
        Ok(request)
    }

    fn send<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let request = self.request(method, path, body)?;
        let Self {
            runtime,
            sender,
            time_limit,
            ..
        } = self;
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            Ok::<_, ClientError>((status, body))
        };
        let (status, body) = runtime.block_on(async {
            let Some(limit) = *time_limit else {
                return exchange.await;
            };
            let done = tokio::time::timeout(limit, exchange).await;
            done.unwrap_or(Err(ClientError::TimedOut(limit)))
        })?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        Err(refusal(status, &body))
    }
}

pub(crate) fn refusal(status: StatusCode, body: &[u8]) -> ClientError {
    let problem = serde_json::from_slice(body).unwrap_or_else(|_| ErrorResponse {
        error: format!("the service answered {status}"),
        hint: None,
    });
    ClientError::Refused { status, problem }
}

fn runtime() -> Result<Runtime, ClientError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(ClientError::Runtime)
}
