//! Requests to a service, one after the other.

use std::path::Path;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::connection::{ApiRequest, Connection, SendFailure, ServiceTarget};
use crate::reconnect::{Outage, ReconnectPolicy, RequestKey};
use crate::{ClientError, RemoteService};

/// A client of a service, with a connection to it. After the connection was lost, the next request opens
/// another one.
pub struct ApiClient {
    pub(crate) runtime: Runtime,
    pub(crate) target: ServiceTarget,
    pub(crate) connection: Option<Connection>,
    /// Maximum time of a request; None if it may take any time.
    time_limit: Option<Duration>,
    reconnect: ReconnectPolicy,
}

/// A complete response.
struct ApiResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl ApiResponse {
    fn error(&self) -> ClientError {
        ClientError::from_response(self.status, &self.headers, &self.body)
    }
}

impl ApiClient {
    /// Connects to the service at a Unix socket. A lost connection is an error.
    ///
    /// # Errors
    /// If no service listens there.
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let target = ServiceTarget::Socket(socket.to_owned());
        Self::open(target, ReconnectPolicy::NEVER)
    }

    /// Connects to a remote service. A lost connection is an error.
    ///
    /// # Errors
    /// If the service cannot be reached, or fails the authentication.
    pub fn connect_to(remote: &RemoteService) -> Result<Self, ClientError> {
        let target = ServiceTarget::Remote(remote.clone());
        Self::open(target, ReconnectPolicy::NEVER)
    }

    /// Connects to a service.
    ///
    /// # Errors
    /// If the service cannot be reached, also not later if the policy waits for its start, or fails the
    /// authentication.
    pub fn open(target: ServiceTarget, reconnect: ReconnectPolicy) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ClientError::Runtime)?;
        let mut client = Self {
            runtime,
            target,
            connection: None,
            time_limit: None,
            reconnect,
        };
        let mut outage = Outage::default();
        while let Err(error) = client.connected().map(drop) {
            match error.is_outage() && reconnect.waits_for_start {
                true => outage.pause(error, &reconnect)?,
                false => return Err(error),
            }
        }
        Ok(client)
    }

    /// Limits the time of each GET and POST request from now on.
    pub fn limit_time(&mut self, limit: Duration) {
        self.time_limit = Some(limit);
    }

    /// Sets what the client does from now on after it has lost its connection.
    pub fn set_reconnect(&mut self, reconnect: ReconnectPolicy) {
        self.reconnect = reconnect;
    }

    /// Sends a GET request, again if the connection is lost.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        self.exchange(&ApiRequest::get(path))
    }

    /// Sends a POST request once: if the connection is lost, the service may have carried it out.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.exchange(&post_request(path, body)?)
    }

    /// Sends a POST request with a key of its own, again if the connection is lost: the service carries it
    /// out once. Only for paths that know such keys, or where a repetition does no harm.
    ///
    /// # Errors
    /// If there is no response, or the service returns an error.
    pub fn post_with_key<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.exchange(&ApiRequest {
            key: RequestKey::draw().map(|key| key.to_string()),
            ..post_request(path, body)?
        })
    }

    /// Reads a stream of events and hands each, by its name and its data, to `on_event`, until the stream
    /// ends. After a lost connection it goes on behind the last event.
    ///
    /// # Errors
    /// If the stream breaks, or the service returns an error.
    pub fn stream(
        &mut self,
        path: &str,
        mut on_event: impl FnMut(&str, &str),
    ) -> Result<(), ClientError> {
        let mut request = ApiRequest::get(path);
        let mut outage = Outage::default();
        loop {
            let mut last_event = None;
            let done = self.stream_once(&request, |event| {
                if let Some(id) = event.field("id: ") {
                    last_event = Some(id.to_owned());
                }
                if let (Some(name), Some(data)) = (event.field("event: "), event.field("data: ")) {
                    on_event(name, data);
                }
            });
            if last_event.is_some() {
                request.last_event = last_event;
                outage = Outage::default();
            }
            match done {
                Err(error) if error.is_outage() => {
                    self.connection = None;
                    outage.pause(error, &self.reconnect)?;
                }
                done => return done,
            }
        }
    }

    fn stream_once(
        &mut self,
        request: &ApiRequest<'_>,
        mut on_event: impl FnMut(EventText<'_>),
    ) -> Result<(), ClientError> {
        let built = self.target.request(request)?;
        let (runtime, connection) = self.connected()?;
        let response = runtime.block_on(connection.send(built));
        let (head, mut body) = response.map_err(|failed| failed.error)?.into_parts();
        if !head.status.is_success() {
            let body = runtime.block_on(body.collect())?.to_bytes();
            return Err(ClientError::from_response(
                head.status,
                &head.headers,
                &body,
            ));
        }
        let mut text = Vec::new();
        while let Some(frame) = runtime.block_on(body.frame()) {
            text.extend(frame?.into_data().unwrap_or_default());
            while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = text.drain(..end + 2).collect();
                on_event(EventText(&String::from_utf8_lossy(&event)));
            }
        }
        Ok(())
    }

    /// Sends a request, and again as long as the connection is lost and a repetition does no harm.
    fn exchange<T: DeserializeOwned>(
        &mut self,
        request: &ApiRequest<'_>,
    ) -> Result<T, ClientError> {
        let mut outage = Outage::default();
        loop {
            let failed = match self.exchange_once(request) {
                Ok(answer) if answer.status.is_success() => {
                    return Ok(serde_json::from_slice(&answer.body)?);
                }
                Ok(answer) => SendFailure::after(answer.error()),
                Err(failed) => failed,
            };
            let is_harmless = request.is_repeatable() || !failed.may_be_received;
            if !(failed.error.is_outage() && is_harmless) {
                return Err(failed.error);
            }
            self.connection = None;
            outage.pause(failed.error, &self.reconnect)?;
        }
    }

    fn exchange_once(&mut self, request: &ApiRequest<'_>) -> Result<ApiResponse, SendFailure> {
        let limit = self.time_limit;
        let built = self.target.request(request).map_err(SendFailure::before)?;
        let (runtime, connection) = self.connected().map_err(SendFailure::before)?;
        let exchange = async {
            let (head, body) = connection.send(built).await?.into_parts();
            let body = body.collect().await;
            let body = body.map_err(|error| SendFailure::after(error.into()))?;
            Ok(ApiResponse {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        runtime.block_on(async {
            let Some(limit) = limit else {
                return exchange.await;
            };
            let done = tokio::time::timeout(limit, exchange).await;
            done.unwrap_or_else(|_| Err(SendFailure::after(ClientError::TimedOut(limit))))
        })
    }

    /// Returns the open connection. Opens one if necessary.
    fn connected(&mut self) -> Result<(&Runtime, &mut Connection), ClientError> {
        let open = self.connection.take();
        let open = open.filter(|connection| !connection.sender.is_closed());
        let connection = match open {
            Some(connection) => connection,
            None => self.runtime.block_on(self.target.connect())?,
        };
        Ok((&self.runtime, self.connection.insert(connection)))
    }
}

fn post_request<'a>(path: &'a str, body: &impl Serialize) -> Result<ApiRequest<'a>, ClientError> {
    Ok(ApiRequest {
        method: Method::POST,
        body: Bytes::from(serde_json::to_vec(body)?),
        ..ApiRequest::get(path)
    })
}

/// The text of an event. A text without fields is a heartbeat.
struct EventText<'a>(&'a str);

impl EventText<'_> {
    fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name))
    }
}
