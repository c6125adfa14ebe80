//! One connection: requests are read and answered until its client goes or the service stops.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::framing::FramingWatch;
use super::write_timeout::WriteTimeout;
use crate::api::error::errors_as_json;

/// Maximum time for open requests to complete at shutdown.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept: the process may be out of file descriptors.
pub(super) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves one connection; at shutdown, requests in progress are completed. `timeout` limits the
/// time to receive a request head, and to send the next part of a response.
pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let stream = FramingWatch::new(WriteTimeout::new(stream, timeout));
    let ambiguous = stream.ambiguous();
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let refusal = ambiguous.refusal();
        let router = router.clone();
        let method = request.method().clone();
        async move {
            let response: Response<Body> = match refusal {
                Some(refusal) => refusal,
                None => router.call(request).await?,
            };
            Ok::<_, Infallible>(errors_as_json(&method, response).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // An aborted connection or an invalid request concerns only the client.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|&stop| stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connection).await;
}
