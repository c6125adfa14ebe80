//! A request that states its length in two ways: `content-length` beside `transfer-encoding`.
//!
//! Two programs on the way may disagree about where such a request ends, and the next one begins
//! (request smuggling), so it is answered 400 and its connection closes (RFC 9112, section 6.1).
//! hyper drops `content-length` before a handler can see it, so the bytes are looked at on their way in.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::http::StatusCode;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::ApiError;

/// The two headers, as the beginning of a line.
const FRAMING_HEADERS: [&[u8]; 2] = [b"content-length:", b"transfer-encoding:"];
/// The length of the longer one.
const MAX_NAME: usize = 18;

/// A stream of requests whose lines are looked at.
pub(super) struct FramingWatch<S> {
    stream: S,
    lines: HeadLines,
    ambiguous: AmbiguousFraming,
}

/// A flag: a request with both headers has come in.
#[derive(Clone, Default)]
pub(super) struct AmbiguousFraming(Arc<AtomicBool>);

/// The lines since the last empty one, as far as they matter here. A head is never interrupted by
/// an empty line, so both headers of one request are seen together. A body adds lines of its own, but
/// no JSON document has a line that begins with the name of a header.
#[derive(Default)]
struct HeadLines {
    /// The beginning of the present line.
    line: Vec<u8>,
    /// Which of the two headers came.
    seen: [bool; 2],
}

impl<S> FramingWatch<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            lines: HeadLines::default(),
            ambiguous: AmbiguousFraming::default(),
        }
    }

    pub(super) fn ambiguous(&self) -> AmbiguousFraming {
        self.ambiguous.clone()
    }
}

impl AmbiguousFraming {
    /// The answer to the request at hand if the connection must not go on.
    pub(super) fn refusal(&self) -> Option<Response> {
        self.0.load(Ordering::Acquire).then(|| {
            let error = "expected content-length or transfer-encoding, not both";
            let mut response = ApiError::new(StatusCode::BAD_REQUEST, error).into_response();
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            response
        })
    }
}

impl HeadLines {
    /// Looks at the next bytes; true if one request has both headers.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            if self.line.is_empty() || self.line == b"\r" {
                self.seen = [false; 2];
            }
            for (seen, name) in self.seen.iter_mut().zip(FRAMING_HEADERS) {
                let start = self.line.get(..name.len());
                *seen |= start.is_some_and(|start| start.eq_ignore_ascii_case(name));
            }
            self.line.clear();
            if self.seen == [true; 2] {
                return true;
            }
        }
        self.keep(bytes);
        false
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_NAME - self.line.len();
        self.line.extend(bytes.iter().take(room));
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FramingWatch<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if self.lines.take(&buffer.filled()[known..]) {
            self.ambiguous.0.store(true, Ordering::Release);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FramingWatch<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the bytes are found ambiguous, in pieces of `size` bytes.
    fn is_ambiguous(bytes: &str, size: usize) -> bool {
        let mut lines = HeadLines::default();
        let mut pieces = bytes.as_bytes().chunks(size);
        pieces.any(|piece| lines.take(piece))
    }

    #[test]
    fn head_with_both_headers_is_ambiguous_however_it_is_cut() {
        let both =
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nhost: x\r\nTRANSFER-ENCODING: chunked\r\n";
        for size in 1..40 {
            assert!(is_ambiguous(both, size), "{size}");
            assert!(is_ambiguous(&both.replace('\r', ""), size), "{size}");
            // Behind the body of the request before it, which ends without a new line.
            let second = format!("POST / HTTP/1.1\ncontent-length: 2\n\n{{}}{both}");
            assert!(is_ambiguous(&second, size), "{size}");
        }
    }

    #[test]
    fn heads_with_one_header_each_are_not_ambiguous() {
        let two = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}POST / HTTP/1.1\r\n\
                   transfer-encoding: chunked\r\nx-content-length: 2\r\n\r\n";
        for size in 1..40 {
            assert!(!is_ambiguous(two, size), "{size}");
        }
    }
}
