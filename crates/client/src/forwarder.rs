//! Requests to a service from inside an asynchronous program, any number at a time.

use std::sync::Mutex;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::connection::{ApiRequest, Connection, SendFailure, ServiceTarget};
use crate::reconnect::RequestKey;
use crate::{ClientError, PathWithQuery};

/// Maximum number of idle connections that are kept.
const MAX_IDLE: usize = 8;
/// Maximum time of a request whose whole answer is awaited.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Sends requests to a service, for a program that stands between it and another client. Must be used inside a Tokio
/// runtime.
pub struct ServiceForwarder {
    target: ServiceTarget,
    idle: Mutex<Vec<Connection>>,
}

/// A request that is passed on as it is.
#[derive(Clone, Debug)]
pub struct ForwardedRequest<'a> {
    /// The method.
    pub method: Method,
    /// Path and query, as in `/v1/jobs?live=true`.
    pub path: &'a str,
    /// The body; empty for none.
    pub body: Bytes,
    /// The key with which the service recognises a repetition.
    pub key: Option<String>,
    /// The last event that the client of a stream has received.
    pub last_event: Option<String>,
}

impl<'a> ForwardedRequest<'a> {
    /// Creates a GET request.
    pub const fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: Bytes::new(),
            key: None,
            last_event: None,
        }
    }
}

impl ServiceForwarder {
    /// Creates a forwarder. It connects with its first request.
    pub fn new(target: ServiceTarget) -> Self {
        Self {
            target,
            idle: Mutex::default(),
        }
    }

    /// Passes a request on and returns the response, whatever its status, with a body that is still to come.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn forward(
        &self,
        request: ForwardedRequest<'_>,
    ) -> Result<Response<Incoming>, ClientError> {
        let request = ApiRequest {
            method: request.method,
            path: request.path,
            body: request.body,
            key: request.key,
            last_event: request.last_event,
        };
        let mut connection = self.target.connect().await?;
        let built = self.target.request(&request)?;
        connection.send(built).await.map_err(|failed| failed.error)
    }

    /// Sends a GET request, and again if the connection is lost.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub async fn get<T: DeserializeOwned>(&self, path: &PathWithQuery) -> Result<T, ClientError> {
        let path = path.to_string();
        self.exchange(&ApiRequest::get(&path)).await
    }

    /// Sends a POST request with a key of its own, and again if the connection is lost. Only for paths that know such
    /// keys.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &PathWithQuery,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let path = path.to_string();
        let request = ApiRequest {
            method: Method::POST,
            body: Bytes::from(serde_json::to_vec(body)?),
            key: RequestKey::draw().map(|key| key.to_string()),
            ..ApiRequest::get(&path)
        };
        self.exchange(&request).await
    }

    /// Sends a request over an idle connection, and over a new one if the service closed that one meanwhile.
    async fn exchange<T: DeserializeOwned>(
        &self,
        request: &ApiRequest<'_>,
    ) -> Result<T, ClientError> {
        let exchange = async {
            while let Some(connection) = self.take_idle() {
                match self.exchange_over(connection, request).await {
                    Err(failed) if failed.error.is_outage() && request.is_repeatable() => {}
                    Err(failed) => return Err(failed.error),
                    Ok(answer) => return Ok(answer),
                }
            }
            let connection = self.target.connect().await?;
            let answer = self.exchange_over(connection, request).await;
            answer.map_err(|failed| failed.error)
        };
        let done = tokio::time::timeout(TIME_LIMIT, exchange).await;
        done.unwrap_or(Err(ClientError::TimedOut(TIME_LIMIT)))
    }

    async fn exchange_over<T: DeserializeOwned>(
        &self,
        mut connection: Connection,
        request: &ApiRequest<'_>,
    ) -> Result<T, SendFailure> {
        let built = self.target.request(request).map_err(SendFailure::before)?;
        let (head, body) = connection.send(built).await?.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| SendFailure::after(error.into()))?;
        let body = body.to_bytes();
        self.put_idle(connection);
        if !head.status.is_success() {
            let error = ClientError::from_response(head.status, &head.headers, &body);
            return Err(SendFailure::after(error));
        }
        serde_json::from_slice(&body).map_err(|error| SendFailure::after(error.into()))
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().expect("no holder of the lock panics");
        idle.retain(|connection| !connection.sender.is_closed());
        idle.pop()
    }

    fn put_idle(&self, connection: Connection) {
        let mut idle = self.idle.lock().expect("no holder of the lock panics");
        if idle.len() < MAX_IDLE && !connection.sender.is_closed() {
            idle.push(connection);
        }
    }
}
