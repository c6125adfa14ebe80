//! Errors for files that cannot be used at all.

use std::io;

use crate::diagnostics::Diagnostics;
use crate::foreign_format::ForeignFormat;

/// Maximum number of characters of an unknown line in a message.
const MAX_EXCERPT_CHARS: usize = 40;

/// A trace that could not be opened or read, with its file and the cause.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {cause}")]
pub struct OpenError {
    /// The file as the user named it, or `standard input`.
    pub file: String,
    /// The cause.
    #[source]
    pub cause: ReadError,
}

impl OpenError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        self.cause.hint()
    }
}

/// Why no trace could be read from a stream of bytes.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system reported an error; the line (from 1) is where reading stopped.
    #[error("line {line}: cannot be read: {error}")]
    Io {
        /// The line at which reading stopped.
        line: u64,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file could not be opened.
    #[error("cannot be opened: {0}")]
    Open(io::Error),
    /// Compressed data that is truncated.
    #[error("line {line}: the gzip data stops before its end")]
    TruncatedGzip {
        /// The line that the end of the data interrupts.
        line: u64,
    },
    /// Compressed data that does not decompress.
    #[error("line {line}: the gzip data is damaged: {error}")]
    DamagedGzip {
        /// The line near which the damage is.
        line: u64,
        /// The error of the decompressor.
        error: io::Error,
    },
    /// Compressed data that decompresses to more than the limit.
    #[error(
        "line {line}: the gzip data is longer than expected: at most {most} bytes decompressed"
    )]
    TooLarge {
        /// The line at which reading stopped.
        line: u64,
        /// Maximum number of decompressed bytes.
        most: u64,
    },
    /// The environment variable is not a number of bytes.
    #[error("TOLLGATE_MAX_DECOMPRESSED: expected a number of bytes as in 16G, found `{found}`")]
    BadLimit {
        /// The value of the variable.
        found: String,
    },
    /// Binary data instead of text.
    #[error("line 1: expected a text trace, found {found}")]
    Binary {
        /// The kind of binary data, by the first bytes.
        found: BinaryKind,
    },
    /// Log-ins at computers, or their availability, in place of jobs.
    #[error("expected records of jobs, found log-ins or availability of computers")]
    Logins,
    /// A known format that is not read.
    #[error("expected a format that is read, found {found}")]
    Foreign {
        /// The format.
        found: ForeignFormat,
    },
    /// A directory with files of different formats.
    #[error("expected files of one format, found {first} and {second}")]
    MixedFormats {
        /// A file and its format.
        first: String,
        /// A file of another format, and its format.
        second: String,
    },
    /// No bytes, or only blanks.
    #[error("is empty; expected a trace with at least one job")]
    Empty,
    /// Text in no known format.
    #[error(
        "line {line}: expected a record of SWF or GWF, an accounting record of Grid Engine, Slurm, \
         PBS or LSF, events of Slurm's simulator, HTCondor's history or event log, or the header of \
         a job table \
         (`job_id,submit_s,runtime_s,procs,..`), found `{found}`"
    )]
    UnknownFormat {
        /// The first line that is not blank.
        line: u64,
        /// The beginning of the line.
        found: String,
    },
    /// Text, but not log-ins of a known format.
    #[error(
        "line {line}: expected the header of a table of log-ins (`computer,login,logout`) or of an \
         event trace of the Failure Trace Archive, found `{found}`"
    )]
    UnknownLogins {
        /// The first line that is not blank.
        line: u64,
        /// The beginning of the line.
        found: String,
    },
    /// No log-in is usable.
    #[error("no usable line; expected at least one log-in{}", list(.diagnostics))]
    NoLogins {
        /// The reasons for which lines were skipped.
        diagnostics: Diagnostics,
    },
    /// A job table that lacks a required column.
    #[error("line {line}: expected a column `{column}` in the header of the job table")]
    MissingColumn {
        /// The line of the header.
        line: u64,
        /// The missing column.
        column: &'static str,
    },
    /// A job table with two columns of one name.
    #[error("line {line}: expected every column once in the header, found `{column}` twice")]
    DuplicateColumn {
        /// The line of the header.
        line: u64,
        /// The repeated name.
        column: String,
    },
    /// No line is usable.
    #[error("no usable line; expected at least one job{}", list(.diagnostics))]
    NoUsableLine {
        /// The reasons for which lines were skipped.
        diagnostics: Diagnostics,
    },
}

impl ReadError {
    /// Returns a suggestion for the user, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TruncatedGzip { .. } | Self::DamagedGzip { .. } => {
                Some("fetch or copy the file again; `gzip -t` checks it")
            }
            Self::TooLarge { .. } => Some(
                "set TOLLGATE_MAX_DECOMPRESSED=64G, or decompress it first: `gzip -dc FILE | tollgate .. -`",
            ),
            Self::BadLimit { .. } => Some("unset it: 4G is the default"),
            Self::Binary { found } => found.hint(),
            Self::Logins => {
                Some("they tell when computers are taken: `tollgate campus RECORDS --logins FILE`")
            }
            Self::Foreign { found } => Some(found.hint()),
            Self::MixedFormats { .. } => {
                Some("name one file at a time, or keep the files of each format in a directory")
            }
            Self::UnknownFormat { .. } => Some(
                "job tables and `sacct -P` need their header line; docs/policies/formats.md has every format \
                 and how to export it",
            ),
            Self::MissingColumn { .. } => {
                Some("job_id, submit_s, runtime_s and procs are required, in any order")
            }
            Self::DuplicateColumn { .. } => Some("rename or remove one of the two columns"),
            Self::UnknownLogins { .. } => {
                Some("docs/policies/formats.md says what the columns may be called")
            }
            Self::Empty
            | Self::NoUsableLine { .. }
            | Self::NoLogins { .. }
            | Self::Io { .. }
            | Self::Open(_) => None,
        }
    }
}

impl ReadError {
    /// Returns whether the content is at fault, as opposed to a stream that could not be read
    /// whole.
    pub const fn is_content_error(&self) -> bool {
        match self {
            Self::Io { .. }
            | Self::Open(_)
            | Self::TruncatedGzip { .. }
            | Self::DamagedGzip { .. }
            | Self::TooLarge { .. }
            | Self::BadLimit { .. }
            | Self::MixedFormats { .. }
            | Self::MissingColumn { .. }
            | Self::DuplicateColumn { .. } => false,
            Self::Binary { .. }
            | Self::Logins
            | Self::Foreign { .. }
            | Self::Empty
            | Self::UnknownFormat { .. }
            | Self::UnknownLogins { .. }
            | Self::NoLogins { .. }
            | Self::NoUsableLine { .. } => true,
        }
    }
}

/// The kind of a binary file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryKind {
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by xz.
    Xz,
    /// Compressed by zstd.
    Zstd,
    /// A zip archive.
    Zip,
    /// A Parquet file.
    Parquet,
    /// Anything else that is not text.
    Unknown,
}

impl BinaryKind {
    /// Returns the kind that the first bytes of a file indicate, if any.
    pub(crate) fn of(start: &[u8]) -> Self {
        let magics: [(&[u8], Self); 5] = [
            (b"BZh", Self::Bzip2),
            (b"\xfd7zXZ", Self::Xz),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"PK\x03\x04", Self::Zip),
            (b"PAR1", Self::Parquet),
        ];
        magics
            .into_iter()
            .find(|(magic, _)| start.starts_with(magic))
            .map_or(Self::Unknown, |(_, kind)| kind)
    }

    const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Bzip2 => Some("decompress it first: `bzip2 -dc FILE | tollgate .. -`"),
            Self::Xz => Some("decompress it first: `xz -dc FILE | tollgate .. -`"),
            Self::Zstd => Some("decompress it first: `zstd -dc FILE | tollgate .. -`"),
            Self::Zip => Some("decompress it first: `unzip -p FILE | tollgate .. -`"),
            Self::Parquet => Some("write it as CSV first"),
            Self::Unknown => None,
        }
    }
}

impl std::fmt::Display for BinaryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bzip2 => "a bzip2 file",
            Self::Xz => "an xz file",
            Self::Zstd => "a zstd file",
            Self::Zip => "a zip archive",
            Self::Parquet => "a Parquet file",
            Self::Unknown => "binary data",
        })
    }
}

/// Returns the beginning of a line in a form that fits a message.
pub(crate) fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii());
    let shown = text
        .chars()
        .take(MAX_EXCERPT_CHARS)
        .map(|c| if c.is_control() { '?' } else { c });
    let dots = if text.chars().count() > MAX_EXCERPT_CHARS {
        ".."
    } else {
        ""
    };
    shown.collect::<String>() + dots
}

/// Returns the findings after a colon, on one line, because the message must stay on one line.
fn list(diagnostics: &Diagnostics) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    format!(": {}", diagnostics.to_string().replace('\n', "; "))
}
