//! Errors of `tollgate trace`.

use std::borrow::Cow;
use std::io;

use tollgate_trace::record_filter::DatelessRecord;

use crate::exit::{CliError, ExitKind};
use crate::output::messages::pluralise;

/// An error of a trace command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    /// No output format is given.
    #[error("--to: expected a format, for lack of an OUT whose name ends in one")]
    NoOutputFormat,
    /// Two traces whose clocks begin at different instants, so that they do not fit into one file.
    #[error("{other}: its clock does not begin when that of {first} does")]
    TwoClocks { first: String, other: String },
    /// A date for a record without a calendar.
    #[error(transparent)]
    Dateless(#[from] DatelessRecord),
    /// `trace check` has found something.
    #[error("{}", pluralise(*findings, "finding"))]
    Findings { findings: usize },
    /// Jobs wider than the machine for which they are generated.
    #[error("--max-width: {max_width} is more than the {nodes} nodes of --nodes")]
    WidthAboveNodes { max_width: u32, nodes: u32 },
    /// The key file cannot be read.
    #[error("--key: {file}: cannot be read: {error}")]
    Key { file: String, error: io::Error },
    /// A key that is short enough to be guessed.
    #[error("--key: {file}: expected at least {least} bytes, found {bytes}")]
    ShortKey {
        file: String,
        bytes: usize,
        least: usize,
    },
    /// The system returns no random bytes.
    #[error("no key can be drawn: {0}")]
    NoRandomness(String),
}

impl CliError for TraceError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoOutputFormat
            | Self::TwoClocks { .. }
            | Self::Dateless(_)
            | Self::WidthAboveNodes { .. }
            | Self::Key { .. }
            | Self::ShortKey { .. } => ExitKind::Usage,
            Self::Findings { .. } | Self::NoRandomness(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::NoOutputFormat => "`--to swf` or `--to csv`, or `--out jobs.csv`",
            Self::TwoClocks { .. } => "convert each on its own",
            Self::Dateless(_) => {
                "give seconds of the record's clock, as `tollgate trace info` shows them"
            }
            Self::WidthAboveNodes { .. } => "leave `--max-width` out for jobs of up to all nodes",
            Self::ShortKey { .. } => "`head -c 32 /dev/urandom > KEY` makes a good one",
            Self::NoRandomness(_) => "give a file of secret bytes with `--key`",
            Self::Findings { .. } | Self::Key { .. } => return None,
        };
        Some(hint.into())
    }
}
