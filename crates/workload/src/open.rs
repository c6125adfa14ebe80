//! A path or standard input, compressed or not; the format is found by content.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memchr::memchr;

use crate::error::{BinaryKind, OpenError, ReadError};
use crate::trace::Trace;
use crate::usage::Usage;
use crate::{pbs, sge, slurm, swf, table};

/// What a reader keeps of each job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// What a policy or a world needs: 40 bytes a job.
    #[default]
    Core,
    /// Names and how the job went as well: 92 bytes more, and the names.
    All,
}

impl Columns {
    /// How a job went as `read` finds out, if that is to be kept.
    pub(crate) fn usage(self, read: impl FnOnce() -> Usage) -> Usage {
        match self {
            Self::Core => Usage::default(),
            Self::All => read(),
        }
    }
}

/// How a trace is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What is kept of each job.
    pub columns: Columns,
}

/// How much of the beginning decides about the format, in bytes.
const PREFIX: u64 = 1 << 16;

/// Large enough that calls of the operating system do not show.
const BUFFER: usize = 1 << 16;

/// What some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many characters of an unknown line a message shows.
const SHOWN: usize = 40;

/// Reads the trace at `path`; `-` is standard input.
///
/// # Errors
/// [`OpenError`] with the file, the line, what was expected and perhaps a hint, if the file
/// cannot be opened or read, is empty, binary, damaged or of no known format, or has not one
/// usable line. Files that are only partly bad are read: see [`Trace::diagnostics`].
pub fn open(path: &Path, options: ReadOptions) -> Result<Trace, OpenError> {
    if path == Path::new("-") {
        return read("standard input", io::stdin().lock(), options);
    }
    let file = path.display().to_string();
    match File::open(path) {
        Ok(bytes) => read(&file, bytes, options),
        Err(error) => Err(OpenError {
            file,
            cause: ReadError::Open(error),
        }),
    }
}

/// Reads a trace from any stream of bytes; `name` stands for it in messages.
///
/// # Errors
/// As [`open`].
pub fn read(name: &str, mut bytes: impl Read, options: ReadOptions) -> Result<Trace, OpenError> {
    let mut magic = Vec::new();
    let outcome = match bytes.by_ref().take(2).read_to_end(&mut magic) {
        Err(error) => Err(ReadError::Io { line: 1, error }),
        Ok(_) => {
            let gzip = magic == [0x1f, 0x8b];
            let whole = Cursor::new(magic).chain(bytes);
            if gzip {
                read_text(name, MultiGzDecoder::new(whole), options).map_err(blame_gzip)
            } else {
                read_text(name, whole, options)
            }
        }
    };
    outcome.map_err(|cause| OpenError {
        file: name.to_owned(),
        cause,
    })
}

fn read_text(name: &str, mut bytes: impl Read, options: ReadOptions) -> Result<Trace, ReadError> {
    let mut prefix = Vec::new();
    bytes
        .by_ref()
        .take(PREFIX)
        .read_to_end(&mut prefix)
        .map_err(|error| ReadError::Io {
            line: 1 + memchr::memchr_iter(b'\n', &prefix).count() as u64,
            error,
        })?;
    if prefix.starts_with(BYTE_ORDER_MARK) {
        prefix.drain(..BYTE_ORDER_MARK.len());
    }
    let format = Format::of(&prefix)?;
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(prefix).chain(bytes));
    match format {
        Format::Swf => swf::read(name, whole, options),
        Format::GridEngine => sge::read(name, whole, options),
        Format::Slurm => slurm::read(name, whole, options),
        Format::Pbs => pbs::read(name, whole, options),
        Format::Table => table::read(name, whole, options),
    }
}

/// The decompressor reports damage as an error of reading.
fn blame_gzip(cause: ReadError) -> ReadError {
    let ReadError::Io { line, error } = cause else {
        return cause;
    };
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return ReadError::TruncatedGzip { line };
    }
    let damaged = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
    if damaged.contains(&error.kind()) {
        return ReadError::DamagedGzip { line, error };
    }
    ReadError::Io { line, error }
}

enum Format {
    Swf,
    GridEngine,
    Slurm,
    Pbs,
    Table,
}

impl Format {
    /// The format of a file that begins with `prefix`.
    fn of(prefix: &[u8]) -> Result<Self, ReadError> {
        let found = BinaryKind::of(prefix);
        if found != BinaryKind::Unknown || memchr(0, prefix).is_some() {
            return Err(ReadError::Binary { found });
        }
        let mut lines = (1..).zip(prefix.split(|&byte| byte == b'\n'));
        let (line, first) = lines
            .find(|(_, line)| !line.trim_ascii().is_empty())
            .ok_or(ReadError::Empty)?;
        if first.trim_ascii_start().starts_with(b";") {
            return Ok(Self::Swf);
        }
        if looks_like_table(first) {
            return Ok(Self::Table);
        }
        if let Some(format) = prefix
            .split(|&byte| byte == b'\n')
            .find_map(Self::of_record)
        {
            return Ok(format);
        }
        if swf::starts_like(first) || lines.any(|(_, line)| swf::is_record(line)) {
            return Ok(Self::Swf);
        }
        Err(ReadError::UnknownFormat {
            line,
            found: excerpt(first),
        })
    }

    /// The accounting format in which `line` is a record: no line is one in two of them.
    fn of_record(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let known = [
            (sge::is_record as fn(&[u8]) -> bool, Self::GridEngine),
            (slurm::starts_like, Self::Slurm),
            (pbs::begins_record, Self::Pbs),
        ];
        known
            .into_iter()
            .find_map(|(is_record, format)| is_record(line).then_some(format))
    }
}

/// A header names at least one of the required columns of a job table.
fn looks_like_table(line: &[u8]) -> bool {
    line.split(|&byte| byte == b',')
        .any(|cell| table::is_required(unquoted(cell)))
}

fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"")
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(cell)
}

/// The beginning of a line, fit for a message.
fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii());
    let shown = text
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { '?' } else { c });
    let dots = if text.chars().count() > SHOWN {
        ".."
    } else {
        ""
    };
    shown.collect::<String>() + dots
}
