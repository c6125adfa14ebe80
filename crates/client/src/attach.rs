//! The connection to the terminal of a session, through its service.

use std::io;
use std::os::unix::net::UnixStream;
use std::thread;

use http_body_util::BodyExt;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use crate::connection::ApiRequest;
use crate::{ApiClient, ClientError};

/// The path at which a service connects its clients to the terminal of its session.
pub const TERMINAL_PATH: &str = "/v1/session/attach";
/// The protocol name of such a connection, in the header `upgrade`.
pub const TERMINAL_PROTOCOL: &str = "tollgate-terminal";

impl ApiClient {
    /// Turns this connection into one to the terminal of the service's session. The returned stream ends
    /// with it.
    ///
    /// # Errors
    /// If the service has no such terminal, does not let this user attach, or cannot be reached.
    pub fn attach(self) -> Result<UnixStream, ClientError> {
        let mut request = self.target.request(&ApiRequest {
            method: Method::POST,
            ..ApiRequest::get(TERMINAL_PATH)
        })?;
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static(TERMINAL_PROTOCOL));
        let Self {
            runtime,
            target,
            connection,
            ..
        } = self;
        let upgraded = runtime.block_on(async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => target.connect().await?,
            };
            let response = connection.sender.send_request(request).await?;
            let status = response.status();
            if status == StatusCode::SWITCHING_PROTOCOLS {
                let upgraded = hyper::upgrade::on(response).await?;
                return Ok::<_, ClientError>(upgraded);
            }
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            Err(ClientError::from_response(status, &head.headers, &body))
        })?;
        let (ours, theirs) = stream_pair().map_err(ClientError::Runtime)?;
        let carry = move || {
            runtime.block_on(async {
                let mut ours = tokio::net::UnixStream::from_std(ours)?;
                copy_bidirectional(&mut TokioIo::new(upgraded), &mut ours).await
            })
        };
        // Each end finds its stream closed, whatever ended it.
        thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || drop(carry()))
            .map_err(ClientError::Runtime)?;
        Ok(theirs)
    }
}

/// Returns both ends of a stream, the first one for an asynchronous task.
fn stream_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs))
}
