//! The request for the metrics of an exporter.

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::figures::WaitFigures;

/// Maximum length of an answer, in bytes. One of a host with a hundred processors has a tenth.
const MAX_BYTES: usize = 4 << 20;
/// The port of `http`.
const HTTP_PORT: u16 = 80;

/// The reason for which an exporter has no figures.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExporterError {
    /// The host cannot be reached.
    #[error("no connection: {0}")]
    Connect(#[from] std::io::Error),
    /// The answer is no HTTP.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    /// The address is no place in the web.
    #[error("no address: {0}")]
    Address(#[from] hyper::http::Error),
    /// The answer is not a success.
    #[error("status {0}: expected 200")]
    Status(StatusCode),
    /// The answer breaks off, or is too long.
    #[error("the answer breaks off, or is longer than 4 MiB")]
    Body,
    /// The answer has no figures.
    #[error(
        "expected node_schedstat_running_seconds_total and node_schedstat_waiting_seconds_total"
    )]
    NoFigures,
    /// The exporter does not answer.
    #[error("no answer for 5 s")]
    TimedOut,
}

/// Fetches the figures at an address.
pub(super) async fn fetch(url: &Uri) -> Result<WaitFigures, ExporterError> {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(HTTP_PORT);
    // An address of IPv6 stands in brackets.
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((name, port)).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, format!("{host}:{port}"))
        .body(Empty::<Bytes>::new())?;
    let answer = async move {
        let answer = sender.send_request(request).await?;
        if answer.status() != StatusCode::OK {
            return Err(ExporterError::Status(answer.status()));
        }
        let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
        let bytes = body.map_err(|_| ExporterError::Body)?.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        WaitFigures::parse(&text).ok_or(ExporterError::NoFigures)
    };
    // The connection moves the bytes, and ends with the answer.
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with these bytes, and returns what comes of it.
    async fn fetched(answer: Vec<u8>) -> Result<WaitFigures, ExporterError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let exporter = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4_096];
            let n = stream.read(&mut request).await.unwrap();
            assert!(request[..n].starts_with(b"GET /metrics?x=1 HTTP/1.1\r\n"));
            // The client may have had enough.
            let _ = stream.write_all(&answer).await;
        };
        let url = format!("http://127.0.0.1:{port}/metrics?x=1")
            .parse()
            .unwrap();
        tokio::join!(exporter, fetch(&url)).1
    }

    fn response(status: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
    }

    const FIGURES: &str = "node_schedstat_running_seconds_total{cpu=\"0\"} 1\n\
        node_schedstat_waiting_seconds_total{cpu=\"0\"} 2\n";

    #[tokio::test]
    async fn figures_are_fetched() {
        let found = fetched(response("200 OK", FIGURES)).await.unwrap();
        assert_eq!(Some(found), WaitFigures::parse(FIGURES));
    }

    #[tokio::test]
    async fn bad_answers_have_a_reason() {
        let long = FIGURES.repeat(MAX_BYTES / FIGURES.len() + 1);
        let cut = &response("200 OK", FIGURES)[..60];
        let cases = [
            (response("500 No", FIGURES), "status 500"),
            (response("200 OK", "x 1\n"), "expected node_schedstat"),
            (response("200 OK", &long), "longer than 4 MiB"),
            (cut.to_vec(), "breaks off"),
            (b"hello\r\n\r\n".to_vec(), "no answer"),
            (Vec::new(), "no answer"),
        ];
        for (answer, reason) in cases {
            let error = fetched(answer).await.unwrap_err().to_string();
            assert!(error.contains(reason), "{reason}: {error}");
        }
    }

    #[tokio::test]
    async fn host_without_an_exporter_has_a_reason() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let url = format!("http://127.0.0.1:{port}/").parse().unwrap();
        let error = fetch(&url).await.unwrap_err().to_string();
        assert!(error.starts_with("no connection"), "{error}");
    }
}
