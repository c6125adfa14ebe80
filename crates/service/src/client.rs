//! A client of the service.

use std::io;
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::api::types::Problem;

/// A connection to a service.
pub struct Client {
    runtime: Runtime,
    sender: http1::SendRequest<Full<Bytes>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there.
    #[error("{}: no service answers here", socket.display())]
    NoService {
        /// The socket.
        socket: PathBuf,
    },
    /// It cannot be reached.
    #[error("{}: cannot be reached: {error}", socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The connection broke.
    #[error("the service broke off: {0}")]
    Broken(#[from] hyper::Error),
    /// The service says no.
    #[error("{}", problem.error)]
    Refused {
        /// With this status.
        status: StatusCode,
        /// In these words.
        problem: Problem,
    },
    /// It answers in words of another version.
    #[error("the service answered what this version does not understand: {0}")]
    Nonsense(#[from] serde_json::Error),
    /// The request cannot be made.
    #[error("the request cannot be made: {0}")]
    Request(#[from] hyper::http::Error),
}

impl Client {
    /// Connects to the service at a Unix socket.
    ///
    /// # Errors
    /// If nobody answers there.
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let failed = |error: io::Error| {
            let socket = socket.to_owned();
            let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
            if nobody.contains(&error.kind()) {
                return ClientError::NoService { socket };
            }
            ClientError::Connect { socket, error }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(failed)?;
        let stream = runtime
            .block_on(UnixStream::connect(socket))
            .map_err(failed)?;
        let (sender, connection) = runtime.block_on(http1::handshake(TokioIo::new(stream)))?;
        runtime.spawn(async move {
            // Whoever waits for an answer is told that the connection broke.
            let _ = connection.await;
        });
        Ok(Self { runtime, sender })
    }

    /// Asks for what is at a path.
    ///
    /// # Errors
    /// If there is no answer, or the service says no.
    pub fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, Bytes::new())
    }

    /// Sends something to a path.
    ///
    /// # Errors
    /// If there is no answer, or the service says no.
    pub fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body)?;
        self.send(Method::POST, path, Bytes::from(body))
    }

    fn send<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let Self { runtime, sender } = self;
        let (status, body) = runtime.block_on(async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            Ok::<_, hyper::Error>((status, body))
        })?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        let problem = serde_json::from_slice(&body).unwrap_or_else(|_| Problem {
            error: format!("the service answered {status}"),
            hint: None,
        });
        Err(ClientError::Refused { status, problem })
    }
}
