//! The words that are understood.

use std::str::FromStr;

use clap::{Parser, Subcommand, ValueEnum};

use crate::{forecast, policies, replay, study};

/// Decide which jobs a shared cluster should promise to finish, by when and at what price.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Replay(Box<replay::Args>),
    Policies(policies::Args),
    Forecast(Box<forecast::Args>),
    Study(study::Args),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One object.
    Json,
    /// One line a policy, a claim, or a class.
    Csv,
}

/// Reads a count.
pub(crate) fn count<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 1")
}
