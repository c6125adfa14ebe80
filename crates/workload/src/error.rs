//! Why a file cannot be used at all.

use std::io;

use crate::diagnostics::Diagnostics;

/// A trace that could not be opened or read: which file, and why.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {cause}")]
pub struct OpenError {
    /// The file as the user named it, or `standard input`.
    pub file: String,
    /// What is wrong with it.
    #[source]
    pub cause: ReadError,
}

impl OpenError {
    /// The next thing to try, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        self.cause.hint()
    }
}

/// Why nothing could be read from a stream of bytes.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused; the line (from 1) is where reading stopped.
    #[error("line {line}: cannot be read: {error}")]
    Io {
        /// Where reading stopped.
        line: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The file could not even be opened.
    #[error("cannot be opened: {0}")]
    Open(io::Error),
    /// Compressed data that stops before its end.
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
        /// What the decompressor said.
        error: io::Error,
    },
    /// Not text.
    #[error("line 1: expected a text trace, found {found}")]
    Binary {
        /// What the first bytes look like.
        found: BinaryKind,
    },
    /// Not one byte, or only blanks.
    #[error("is empty; expected a trace with at least one job")]
    Empty,
    /// Text, but no format that is known.
    #[error(
        "line {line}: expected an SWF record (18 numbers separated by blanks), an accounting \
         record of Grid Engine, Slurm (`sacct -P`) or PBS, or the header of a job table \
         (`job_id,submit_s,runtime_s,procs,..`), found `{found}`"
    )]
    UnknownFormat {
        /// The first line that says something.
        line: u64,
        /// Its beginning.
        found: String,
    },
    /// A job table without a column that it must have.
    #[error("line {line}: expected a column `{column}` in the header of the job table")]
    MissingColumn {
        /// The line of the header.
        line: u64,
        /// The column that is not there.
        column: &'static str,
    },
    /// A job table with two columns of one name.
    #[error("line {line}: expected every column once in the header, found `{column}` twice")]
    DuplicateColumn {
        /// The line of the header.
        line: u64,
        /// The name that stands there twice.
        column: String,
    },
    /// No line could be used.
    #[error("no usable line; expected at least one job{}", list(.diagnostics))]
    NoUsableLine {
        /// Why each line was left out.
        diagnostics: Diagnostics,
    },
}

impl ReadError {
    /// The next thing to try, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TruncatedGzip { .. } | Self::DamagedGzip { .. } => {
                Some("fetch or copy the file again; `gzip -t` checks it")
            }
            Self::Binary { found } => found.hint(),
            Self::UnknownFormat { .. } => Some(
                "job tables and `sacct -P` need their header line; other accounting formats must be \
                 converted",
            ),
            Self::MissingColumn { .. } => {
                Some("job_id, submit_s, runtime_s and procs are required, in any order")
            }
            Self::DuplicateColumn { .. } => Some("rename or remove one of the two columns"),
            Self::Empty | Self::NoUsableLine { .. } | Self::Io { .. } | Self::Open(_) => None,
        }
    }
}

/// What a binary file is, by its first bytes.
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
    /// What the first bytes of a file say about it, if they say anything.
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

/// The findings after a colon, on one line: the message must stay one.
fn list(diagnostics: &Diagnostics) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    format!(": {}", diagnostics.to_string().replace('\n', "; "))
}
