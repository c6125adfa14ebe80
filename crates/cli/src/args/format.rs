//! The option `--format`, and numbers as options have them.

use std::str::FromStr;

use clap::ValueEnum;

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people
    Table,
    /// One JSON object
    Json,
    /// One line per row
    Csv,
}

/// Parses a number that may be 0.
pub(crate) fn parse_integer<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 0")
}

/// Parses a count, which is at least 1.
pub(crate) fn parse_count<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 1")
}
