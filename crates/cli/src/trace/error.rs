//! What can be wrong with a question to `tollgate trace`.

use std::borrow::Cow;
use std::io;

use crate::exit::{CliError, ExitKind};
use crate::messages::pluralise;

/// Why there is no answer about records, or not the one that was hoped for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    /// Nothing says in which format jobs are to be written.
    #[error("--to: expected a format, for lack of an OUT whose name ends in one")]
    NoOutputFormat,
    /// Records whose clocks begin at different instants do not fit into one file.
    #[error("{other}: its clock does not begin when that of {first} does")]
    TwoClocks { first: String, other: String },
    /// Something is wrong with a record, and that was the question.
    #[error("{}", pluralise(*findings, "finding"))]
    Findings { findings: usize },
    /// The file of a key cannot be read.
    #[error("--key: {file}: cannot be read: {error}")]
    Key { file: String, error: io::Error },
    /// A key that could be guessed.
    #[error("--key: {file}: expected at least {least} bytes, found {bytes}")]
    ShortKey {
        file: String,
        bytes: usize,
        least: usize,
    },
    /// The system gives no random bytes.
    #[error("no key can be drawn: {0}")]
    NoRandomness(String),
}

impl CliError for TraceError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoOutputFormat
            | Self::TwoClocks { .. }
            | Self::Key { .. }
            | Self::ShortKey { .. } => ExitKind::Usage,
            Self::Findings { .. } | Self::NoRandomness(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::NoOutputFormat => "`--to swf` or `--to csv`, or `--out jobs.csv`",
            Self::TwoClocks { .. } => "convert each on its own",
            Self::ShortKey { .. } => "`head -c 32 /dev/urandom > KEY` makes a good one",
            Self::NoRandomness(_) => "give a file of secret bytes with `--key`",
            Self::Findings { .. } | Self::Key { .. } => return None,
        };
        Some(hint.into())
    }
}
