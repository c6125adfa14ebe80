//! `tollgate forecast`: predictions of run times and of waits.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | the flags |
//! | [`error`] | the errors |
//! | [`parse`] | parsing and formatting of spans |
//! | [`records`] | records that are read, with notes about them |
//! | [`learn`] | learning of a state from records |
//! | [`classes`] | the answer about every class |
//! | [`explain`] | the answer about one job |
//! | [`evaluate`] | `tollgate forecast evaluate` |
//! | [`waits`] | `--waits` of both |
//!
//! The forecasts are those of the crate `tollgate-site-forecast`.

mod args;
mod classes;
mod error;
mod evaluate;
mod explain;
mod learn;
mod parse;
mod records;
mod waits;

pub(crate) use self::args::ForecastArgs;

use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

pub(crate) fn run(args: &ForecastArgs) -> Result<(), CliFailure> {
    if let Some(args::ForecastCommand::Evaluate(args)) = &args.command {
        return if args.waits {
            waits::run_evaluation(args)
        } else {
            evaluate::run(args)
        };
    }
    let notes = verbosity(args.quiet);
    if args.waits {
        return waits::run(args, notes);
    }
    let state = learn::load_and_learn(args, notes)?;
    if args.explain {
        explain::run(&state, &args.job, &args.levels, args.format)
    } else {
        classes::run(&state, args, notes)
    }
}

fn verbosity(quiet: bool) -> Verbosity {
    if quiet {
        Verbosity::Errors
    } else {
        Verbosity::Notes
    }
}
