//! The words that are understood.

use std::str::FromStr;

use clap::{Command as ClapCommand, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::{forecast, live, policies, replay, study, trace};

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
    Serve(live::serve::Args),
    Demo(live::demo::Args),
    Submit(Box<live::submit::Args>),
    /// Show what a job would be told if it was handed in; binds nothing and changes nothing.
    Quote(Box<live::submit::QuoteArgs>),
    Status(live::list::StatusArgs),
    Jobs(live::list::JobsArgs),
    Explain(live::list::ExplainArgs),
    Wait(live::act::WaitArgs),
    /// Take a job back: it leaves the queue, or is ended.
    Cancel(live::act::Args),
    /// Hold a queued job back.
    Hold(live::act::Args),
    /// Let a held job queue again.
    Release(live::act::Args),
    /// Print the output of a job.
    Logs(live::act::Args),
    /// List the nodes, with what is enforced there and what can escape.
    Nodes(live::figures::Args),
    /// Show how many promises were kept, by the probability that they were made with.
    Calibration(live::figures::Args),
    Ledger(live::list::LedgerArgs),
    Token(live::token::Args),
    Worker(live::worker::Args),
    /// Hand a job in as with qsub of PBS or Grid Engine.
    Qsub(live::front::Args),
    /// Show how jobs stand as with qstat of PBS or Grid Engine.
    Qstat(live::front::Args),
    /// Take jobs back as with qdel of PBS or Grid Engine.
    Qdel(live::front::Args),
    Trace(trace::Args),
    Generate(live::generate::Args),
}

/// Returns the command line as users see it.
pub(crate) fn command() -> ClapCommand {
    Cli::command().mut_subcommand("worker", |worker| {
        // The options of `live::address` are shared; a worker names its service by `--connect`.
        worker.mut_args(|arg| match arg.get_help().map(ToString::to_string) {
            Some(help) => arg.help(help.replace("With --url:", "With --connect https://:")),
            None => arg,
        })
    })
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One object.
    Json,
    /// One line each.
    Csv,
}

/// Reads a number that may be 0.
pub(crate) fn whole<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 0")
}

/// Reads a count.
pub(crate) fn count<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 1")
}
