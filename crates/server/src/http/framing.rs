//! Detection of requests that state their length in two ways: `content-length` and
//! `transfer-encoding`.
//!
//! Two programs on the way may disagree about where such a request ends and the next one begins (request
//! smuggling). The service answers 400 and closes the connection (RFC 9112, section 6.1). The crate `hyper`
//! drops `content-length` before a handler can see it, so this module inspects the raw bytes as they arrive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::http::StatusCode;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::api::error::ApiError;

/// Length of the longer header name with its colon, in bytes.
const FRAMING_HEADERS: [&[u8]; 2] = [b"content-length:", b"transfer-encoding:"];
/// Length of the longer header name, in bytes.
const MAX_NAME: usize = 18;

/// A stream of requests that inspects each line.
pub(super) struct FramingWatch<S> {
    stream: S,
    lines: HeadLines,
    ambiguous: AmbiguousFraming,
}

/// A flag, set once a request with both headers has arrived.
#[derive(Clone, Default)]
pub(super) struct AmbiguousFraming(Arc<AtomicBool>);

/// State of the lines since the last empty line. A head is never interrupted by an empty line, so
/// both headers of one request are seen together. A body adds lines of its own, but no JSON
/// document has a line that begins with the name of a header.
#[derive(Default)]
struct HeadLines {
    /// The start of the current line.
    line: Vec<u8>,
    /// One flag per header: whether it was seen.
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
    /// Returns the error response if the connection must be closed.
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
    /// Inspects the next bytes; returns true if one request has both headers.
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

    /// Returns whether the bytes are found ambiguous if they arrive in pieces of `size` bytes.
    fn is_ambiguous(bytes: &str, size: usize) -> bool {
        let mut lines = HeadLines::default();
        let mut pieces = bytes.as_bytes().chunks(size);
        pieces.any(|piece| lines.take(piece))
    }

    #[test]
    fn head_with_both_headers_is_ambiguous_in_any_chunking() {
        let both =
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nhost: x\r\nTRANSFER-ENCODING: chunked\r\n";
        for size in 1..40 {
            assert!(is_ambiguous(both, size), "{size}");
            assert!(is_ambiguous(&both.replace('\r', ""), size), "{size}");
            // The second request follows a body that does not end with a newline.
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
