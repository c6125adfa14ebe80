//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use tollgate_service::TakeoverObstacle;

use crate::format::{FIRST, VERSION};

/// Maximum size of a page of the store, in bytes.
const PAGE: u64 = 64 << 10;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("{}: {action}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// A file operation failed.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The store was written by a newer version.
    #[error("{}: written by a newer version (format {found}, this program reads up to {VERSION})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the store.
        found: u32,
    },
    /// The store was written before the first release.
    #[error("{}: written before the first release (format {found}, this program reads {FIRST})", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// The format of the store.
        found: u32,
    },
    /// The disk is full.
    #[error("{}: {action}: no space is left on the disk: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// SQLite's error, which need not name the cause.
        source: rusqlite::Error,
    },
    /// Another version left commands that must be replayed, and this version might decide
    /// otherwise.
    #[error("{}: version {program} was killed, and version {} cannot recover its last commands", path.display(), env!("CARGO_PKG_VERSION"))]
    OtherProgram {
        /// The file.
        path: PathBuf,
        /// The version that wrote the store.
        program: String,
    },
    /// Another version left unfinished jobs in a state of another format.
    #[error("{}: another version left unfinished jobs, whose state version {} cannot read", path.display(), env!("CARGO_PKG_VERSION"))]
    OtherFormat {
        /// The file.
        path: PathBuf,
    },
    /// Unfinished jobs were admitted under other rules.
    #[error("{}: {obstacle}", path.display())]
    OtherRules {
        /// The file.
        path: PathBuf,
        /// Why they cannot go on under the new ones.
        obstacle: TakeoverObstacle,
    },
    /// The store holds data that no version ever wrote.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        what: String,
    },
}

/// The hint for a damaged store.
const RESTORE: &str =
    "`tollgate restore BACKUP --data NEW` brings back what `tollgate backup` kept";

impl StoreError {
    /// Returns whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { error, .. } => error.kind() == io::ErrorKind::StorageFull,
            Self::Newer { .. }
            | Self::Older { .. }
            | Self::OtherProgram { .. }
            | Self::OtherFormat { .. }
            | Self::OtherRules { .. }
            | Self::Damaged { .. } => false,
        }
    }

    /// Returns whether a row broke a constraint of its table: trying the same again cannot help.
    pub fn is_constraint(&self) -> bool {
        let Self::Sqlite { source, .. } = self else {
            return false;
        };
        let is_violated = matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
        );
        is_violated || matches!(source, rusqlite::Error::ToSqlConversionFailure(_))
    }

    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } => {
                Some("start the version of tollgate that wrote it, or a newer one")
            }
            Self::Older { .. } => Some(
                "start revision bee789cb of tollgate with it once, which renews its tables, then this one; or begin with a new folder: `--data`",
            ),
            Self::Full { .. } => Some("make room on the disk"),
            Self::OtherProgram { .. } => {
                Some("start that version once and stop it with SIGTERM, then start this one")
            }
            Self::OtherFormat { .. } => {
                Some("start the version that wrote it until its jobs are over, then start this one")
            }
            Self::OtherRules { .. } => {
                Some("restore the old configuration until these jobs are over, or cancel the jobs")
            }
            Self::Damaged { .. } => Some(RESTORE),
            Self::File { .. } => None,
            Self::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Some("make room on the disk"),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Some(RESTORE),
                Some(_) | None => None,
            },
        }
    }
}

/// Returns a function that adds the file and the action to an SQLite error.
pub(crate) fn sqlite(
    path: &Path,
    action: &'static str,
) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| {
        let path = path.to_owned();
        // If the disk has no space for the index of the write-ahead log, SQLite reports an
        // input/output error.
        let is_unclear = source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
        match is_unclear && is_full(&path) {
            true => StoreError::Full {
                path,
                action,
                source,
            },
            false => StoreError::Sqlite {
                path,
                action,
                source,
            },
        }
    }
}

/// Returns whether the file system of a file has no space for another page.
fn is_full(path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path);
    let room = rustix::fs::statvfs(dir).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    room.is_ok_and(|bytes| bytes < PAGE)
}

/// Decodes a value after verifying its checksum: SQLite detects damage to its own structure, but
/// not to the values.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(
    path: &Path,
    what: &str,
    body: &[u8],
    checksum: u32,
) -> Result<T, StoreError> {
    if crc32fast::hash(body) != checksum {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            what: format!("{what} is not what was written"),
        });
    }
    postcard::from_bytes(body).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("{what} cannot be read: {error}"),
    })
}
