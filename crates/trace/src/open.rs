//! Opens a file, a directory or standard input, compressed or not; the format is detected by
//! content.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use crate::directory;
use crate::error::{OpenError, ReadError};
use crate::format::TraceFormat;
use crate::gzip::{self, GzipReader};
use crate::memory_size;
use crate::options::ReadOptions;
use crate::trace::Trace;
use crate::trace_sink::TraceSink;

/// The name of standard input in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Size of the beginning from which the format is detected, in bytes.
const PREFIX: u64 = 1 << 16;

/// Default maximum number of bytes that a compressed file may decompress to: 4 GiB, about 40
/// million records. A small file can decompress to a thousand times its size, and its jobs would
/// fill the memory.
pub const MAX_DECOMPRESSED: u64 = 4 << 30;

/// The environment variable that overrides the maximum: a number of bytes, as in `16G`.
pub const MAX_DECOMPRESSED_VARIABLE: &str = "TOLLGATE_MAX_DECOMPRESSED";

/// Buffer size, large enough that system calls take no noticeable time.
const BUFFER: usize = 1 << 16;

/// The byte order mark that some editors write before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the trace at `path`; `-` is standard input. A directory is read as one trace of all its
/// files, in order of submission.
///
/// # Errors
/// [`OpenError`] with the file, the line, the expected content and perhaps a hint. The file cannot be opened
/// or read, is empty, binary, damaged or in no known format, or has no usable line. Files that are only
/// partly bad are read: see [`Trace::diagnostics`].
pub fn open(path: &Path, options: ReadOptions) -> Result<Trace, OpenError> {
    if path.is_dir() {
        return directory::read(path, options);
    }
    let sink = &mut TraceSink::collecting();
    open_with(path, |name, bytes| read_text(name, bytes, options, sink))
}

/// Reads a trace from any stream of bytes; `name` names the stream in messages.
///
/// # Errors
/// As [`open`].
pub fn read(name: &str, bytes: impl Read, options: ReadOptions) -> Result<Trace, OpenError> {
    let sink = &mut TraceSink::collecting();
    read_with(name, bytes, |name, bytes| {
        read_text(name, bytes, options, sink)
    })
}

/// Passes the decompressed bytes of a file to `read`, with the name of the file; `-` is standard
/// input.
///
/// # Errors
/// If the file cannot be opened, and the errors of `read`.
pub(crate) fn open_with<T>(
    path: &Path,
    read: impl FnOnce(&str, Box<dyn Read + '_>) -> Result<T, ReadError>,
) -> Result<T, OpenError> {
    if path == Path::new("-") {
        return read_with(STANDARD_INPUT, io::stdin().lock(), read);
    }
    let file = path.display().to_string();
    match File::open(path) {
        Ok(bytes) => read_with(&file, bytes, read),
        Err(error) => Err(OpenError {
            file,
            cause: ReadError::Open(error),
        }),
    }
}

/// Passes bytes to `read` as [`open_with`] does, from a stream of this name.
///
/// # Errors
/// The errors of `read`.
pub(crate) fn read_with<T>(
    name: &str,
    mut bytes: impl Read,
    read: impl FnOnce(&str, Box<dyn Read + '_>) -> Result<T, ReadError>,
) -> Result<T, OpenError> {
    let mut magic = Vec::new();
    let outcome = match bytes.by_ref().take(2).read_to_end(&mut magic) {
        Err(error) => Err(ReadError::Io { line: 1, error }),
        Ok(_) => {
            let is_gzip = magic == gzip::MAGIC;
            let whole = Cursor::new(magic).chain(bytes);
            if is_gzip {
                max_decompressed().and_then(|most| {
                    let text = LimitedReader::new(GzipReader::new(BufReader::new(whole)), most);
                    read(name, Box::new(text)).map_err(gzip_error)
                })
            } else {
                read(name, Box::new(whole))
            }
        }
    };
    outcome.map_err(|cause| OpenError {
        file: name.to_owned(),
        cause,
    })
}

/// Returns the maximum number of bytes that a compressed file may decompress to: the value of the
/// environment variable, else [`MAX_DECOMPRESSED`].
///
/// # Errors
/// [`ReadError::BadLimit`] if the environment variable is not a number of bytes.
fn max_decompressed() -> Result<u64, ReadError> {
    let Some(words) = std::env::var_os(MAX_DECOMPRESSED_VARIABLE) else {
        return Ok(MAX_DECOMPRESSED);
    };
    let bytes = words.to_str().and_then(memory_size::binary_bytes);
    bytes.ok_or_else(|| ReadError::BadLimit {
        found: words.to_string_lossy().into_owned(),
    })
}

/// A reader that fails after a maximum number of bytes, unless the stream ends there.
struct LimitedReader<R> {
    bytes: R,
    left: u64,
    most: u64,
}

impl<R> LimitedReader<R> {
    const fn new(bytes: R, most: u64) -> Self {
        Self {
            bytes,
            left: most,
            most,
        }
    }
}

/// The error with which [`LimitedReader`] fails.
#[derive(Debug, thiserror::Error)]
#[error("more than {most} bytes")]
struct ByteLimitExceeded {
    most: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let most = self.most;
            return match self.bytes.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(ByteLimitExceeded { most })),
            };
        }
        let room = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.bytes.read(&mut buffer[..room])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Removes the byte order mark of UTF-8 text from the beginning of a file.
pub(crate) fn without_byte_order_mark(prefix: &mut Vec<u8>) {
    if prefix.starts_with(BYTE_ORDER_MARK) {
        prefix.drain(..BYTE_ORDER_MARK.len());
    }
}

/// Reads a trace from bytes that are not compressed, through `sink`.
pub(crate) fn read_text(
    name: &str,
    mut bytes: Box<dyn Read + '_>,
    options: ReadOptions,
    sink: &mut TraceSink<'_>,
) -> Result<Trace, ReadError> {
    let mut prefix = Vec::new();
    bytes
        .by_ref()
        .take(PREFIX)
        .read_to_end(&mut prefix)
        .map_err(|error| ReadError::Io {
            line: 1 + memchr::memchr_iter(b'\n', &prefix).count() as u64,
            error,
        })?;
    without_byte_order_mark(&mut prefix);
    let format = TraceFormat::of(&prefix)?;
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(prefix).chain(bytes));
    format.read(sink, name, whole, options)
}

/// Turns a read error that the decompressor caused into an error about the gzip data.
fn gzip_error(cause: ReadError) -> ReadError {
    let ReadError::Io { line, error } = cause else {
        return cause;
    };
    let inner = error.get_ref();
    if let Some(&ByteLimitExceeded { most }) = inner.and_then(|inner| inner.downcast_ref()) {
        return ReadError::TooLarge { line, most };
    }
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return ReadError::TruncatedGzip { line };
    }
    let damaged = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
    if damaged.contains(&error.kind()) {
        return ReadError::DamagedGzip { line, error };
    }
    ReadError::Io { line, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_at_the_limit_is_read_and_a_longer_one_rejected() {
        let read = |length: usize, most| {
            let mut all = Vec::new();
            let bytes = vec![7; length];
            let outcome = LimitedReader::new(bytes.as_slice(), most).read_to_end(&mut all);
            outcome.map_err(|error| gzip_error(ReadError::Io { line: 3, error }).to_string())
        };
        assert_eq!(read(100, 100), Ok(100));
        assert_eq!(read(0, 0), Ok(0));
        let error = read(101, 100).unwrap_err();
        let expected =
            "line 3: the gzip data is longer than expected: at most 100 bytes decompressed";
        assert_eq!(error, expected);
    }
}
