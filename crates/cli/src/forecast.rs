//! `tollgate forecast`: how long jobs will take.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | the flags |
//! | [`error`] | what can be wrong |
//! | [`words`] | spans, levels and keys as people type and read them |
//! | [`records`] | records of jobs on their way to a forecaster |
//! | [`naming`] | which number stands for which user, executable, .. |
//! | [`state`] | everything that was learned, on its way to a file and back |
//! | [`learn`] | from records to a state |
//! | [`classes`] | the answer about every class |
//! | [`explain`] | the answer about one job |
//! | [`evaluate`] | `tollgate forecast evaluate` |

mod args;
mod classes;
mod error;
mod evaluate;
mod explain;
mod learn;
mod name_ids;
mod parse;
mod records;
mod state;

pub(crate) use args::ForecastArgs;

use crate::exit::CliFailure;
use crate::messages::Verbosity;

pub(crate) fn run(args: &ForecastArgs) -> Result<(), CliFailure> {
    if let Some(args::ForecastCommand::Evaluate(args)) = &args.command {
        return evaluate::run(args);
    }
    let voice = verbosity(args.quiet);
    let state = learn::load_and_learn(args, voice)?;
    if args.explain {
        explain::run(&state, &args.job, &args.levels, args.format)
    } else {
        classes::run(&state, args, voice)
    }
}

fn verbosity(quiet: bool) -> Verbosity {
    if quiet {
        Verbosity::Errors
    } else {
        Verbosity::Notes
    }
}
