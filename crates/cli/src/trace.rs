//! `tollgate trace`: records of jobs, looked at and rewritten.
//!
//! | module | what it holds |
//! |---|---|
//! | [`info`] | `trace info`: what is in a record |
//! | [`check`] | `trace check`: every finding, line by line |
//! | [`convert`] | `trace convert` |
//! | [`anonymise`] | `trace anonymise` |
//! | [`synth`] | `trace synth` |
//! | [`input`] | records, read a batch at a time |
//! | [`output`] | jobs on their way out, in which format |
//! | [`error`] | what can be wrong |
//! | [`place`] | standard output, or a file that appears only when it is whole |

mod anonymise;
mod check;
mod convert;
mod error;
mod info;
mod input;
mod output;
mod place;
mod synth;

use clap::Subcommand;

use crate::exit::Failure;

/// Inspect, check, convert and anonymise records of jobs, or generate some.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Args),
    Convert(convert::Args),
    Check(check::Args),
    Anonymise(anonymise::Args),
    Synth(synth::Args),
    /// Print the JSON schema of `trace info --format json`
    Schema,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Info(args) => info::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Check(args) => check::run(args),
        Command::Anonymise(args) => anonymise::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Schema => info::schema(),
    }
}
