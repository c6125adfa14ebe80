//! `tollgate study`: experiments from files.
//!
//! | module | command |
//! |---|---|
//! | [`report`] | `tollgate study report` |

pub(crate) mod report;

use clap::Subcommand;

use crate::exit::Failure;

/// Experiments from files: published ones, and your own.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(report::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Report(args) => report::run(args),
    }
}
