//! `tollgate trace`: reads and rewrites traces.
//!
//! | module | contents |
//! |---|---|
//! | [`info`] | `trace info`: statistics of a trace |
//! | [`check`] | `trace check`: every finding, line by line |
//! | [`convert`] | `trace convert` |
//! | [`anonymise`] | `trace anonymise` |
//! | [`synth`] | `trace synth` |
//! | [`input`] | traces, read in batches |
//! | [`output`] | output of jobs in a chosen format |
//! | [`error`] | the errors |

mod anonymise;
mod check;
mod convert;
mod error;
mod info;
mod input;
mod output;
mod synth;

use clap::Subcommand;

pub(crate) use self::info::print_schema;

use crate::exit::CliFailure;

/// The options of `tollgate trace`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    Info(info::TraceInfoArgs),
    #[command(visible_alias = "filter")]
    Convert(convert::TraceConvertArgs),
    Check(check::TraceCheckArgs),
    Anonymise(anonymise::TraceAnonymiseArgs),
    Synth(synth::TraceSynthArgs),
    /// Print the JSON schema of `trace info`, as `tollgate generate schema trace-info`
    #[command(hide = true)]
    Schema,
}

pub(crate) fn run(args: &TraceArgs) -> Result<(), CliFailure> {
    match &args.command {
        TraceCommand::Info(args) => info::run(args),
        TraceCommand::Convert(args) => convert::run(args),
        TraceCommand::Check(args) => check::run(args),
        TraceCommand::Anonymise(args) => anonymise::run(args),
        TraceCommand::Synth(args) => synth::run(args),
        TraceCommand::Schema => info::print_schema(),
    }
}
