//! Connections of browsers on a loopback address.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode, Uri, header};
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Maximum number of connections. A browser has at most six to one window.
const MAX_CONNECTIONS: usize = 256;
/// Maximum time to receive the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a failed accept: the process may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The path below which a reverse proxy shows the window: empty, or `/` and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowPrefix(String);

/// The error for text that is not a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a path as in /tollgate, got `{0}`")]
pub struct BadWindowPrefix(String);

impl WindowPrefix {
    /// Reads a prefix. A slash at its end changes nothing.
    ///
    /// # Errors
    /// If it does not begin with a slash, or has characters that a URL must escape.
    pub fn parse(words: &str) -> Result<Self, BadWindowPrefix> {
        let path = words.trim_end_matches('/');
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/-._~".contains(letter);
        let is_path = words.starts_with('/') && !path.contains("//") && path.chars().all(is_plain);
        match is_path {
            true => Ok(Self(path.to_owned())),
            false => Err(BadWindowPrefix(words.to_owned())),
        }
    }

    /// Returns the path without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path without the prefix. A proxy may have removed the prefix already. None for the prefix itself
    /// without a slash, below which no relative link would lead anywhere.
    fn strip(&self, uri: &Uri) -> Option<Uri> {
        let whole = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        if self.0.is_empty() {
            return Some(uri.clone());
        }
        let rest = match whole.strip_prefix(&self.0) {
            Some("") => return None,
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) | None => whole,
        };
        Some(rest.parse().unwrap_or_else(|_| Uri::from_static("/")))
    }
}

/// Serves browsers until the task is dropped.
pub async fn serve_loopback(listener: TcpListener, router: Router) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            serve_connection(stream, router).await;
            drop(permit);
        });
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
) {
    // An aborted connection or an invalid request concerns only its browser.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// Returns a router that finds the paths of another one below a prefix.
pub fn router_below(prefix: WindowPrefix, router: Router) -> Router {
    let below = format!("{}/", prefix.0.rsplit('/').next().unwrap_or_default());
    let router = TowerToHyperService::new(router);
    Router::new().fallback(move |mut request: Request<Body>| {
        let (stripped, below) = (prefix.strip(request.uri()), below.clone());
        let router = router.clone();
        async move {
            match stripped {
                Some(uri) => {
                    *request.uri_mut() = uri;
                    router.call(request).await
                }
                None => {
                    let mut moved = Response::new(Body::empty());
                    *moved.status_mut() = StatusCode::PERMANENT_REDIRECT;
                    if let Ok(below) = below.parse() {
                        moved.headers_mut().insert(header::LOCATION, below);
                    }
                    Ok::<_, Infallible>(moved)
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_is_removed_once_and_only_as_a_whole() {
        let prefix = WindowPrefix::parse("/user/me/").unwrap();
        let strip = |path: &str| {
            prefix
                .strip(&path.parse().unwrap())
                .map(|uri| uri.to_string())
        };
        assert_eq!(
            strip("/user/me/jobs?state=held").as_deref(),
            Some("/jobs?state=held")
        );
        assert_eq!(strip("/user/me/").as_deref(), Some("/"));
        assert_eq!(strip("/user/me"), None);
        assert_eq!(strip("/jobs").as_deref(), Some("/jobs"));
        assert_eq!(strip("/user/mean").as_deref(), Some("/user/mean"));
    }

    #[test]
    fn prefix_that_is_no_path_is_rejected() {
        for words in ["", "tollgate", "/a b", "//evil.example", "/a?b", "/\"x"] {
            assert!(WindowPrefix::parse(words).is_err(), "{words}");
        }
        assert_eq!(WindowPrefix::parse("/").unwrap(), WindowPrefix::default());
    }
}
