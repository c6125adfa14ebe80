//! The `tollgate` program: parses words, calls the rooms, prints.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | the words that are understood |
//! | `calendar` | dates |
//! | `csv_rows` | rows of CSV with the keys of JSON as columns |
//! | `exit` | the exit codes, and how a command says what went wrong |
//! | `policies` | `tollgate policies` |
//! | `replay` | `tollgate replay` |
//! | `study` | `tollgate study` |
//! | `live` | `tollgate serve` and its clients: `submit`, `status`, .. |
//! | `trace` | `tollgate trace` |
//! | `forecast` | `tollgate forecast` |
//! | `in_order` | work in parallel, results in order |
//! | `progress` | a bar for long runs on a terminal |
//! | `voice` | what is said on standard error |
//!
//! Data goes to standard output, everything that is said about it to standard error.

mod args;
mod calendar;
mod csv_rows;
mod exit;
mod forecast;
#[doc(hidden)]
pub mod fuzz;
mod in_order;
mod live;
mod policies;
mod progress;
mod replay;
mod study;
mod trace;
mod voice;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::CliCommand;
use crate::live::detach::DETACHED_ARG;
use crate::live::front::{self, FrontendTool};

/// The program: does what the words of the process say, and ends with the exit code of the table.
pub fn main() -> ExitCode {
    let mut words = env::args_os();
    if let Some(tool) = words
        .next()
        .as_deref()
        .and_then(FrontendTool::from_program_name)
    {
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return exit::finish(front::run(tool, &words));
    }
    let mut detached = false;
    match words.next() {
        Some(word) if word == live::serve::RUNNER_ARG => {
            return tollgate_engine::runner::main(words);
        }
        Some(word) if word == live::serve::STARTER_ARG => {
            return tollgate_engine::starter::main(words);
        }
        Some(word) => detached = word == DETACHED_ARG,
        None => {}
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    if detached {
        live::detach::leave_session();
        words.remove(1);
    }
    let done = match args::parse(words).command {
        CliCommand::Replay(args) => replay::run(&args),
        CliCommand::Policies(args) => policies::run(&args),
        CliCommand::Forecast(args) => forecast::run(&args),
        CliCommand::Study(args) => study::run(&args),
        CliCommand::Serve(args) => live::serve::run(&args),
        CliCommand::Submit(args) => live::submit::submit(&args),
        CliCommand::Quote(args) => live::submit::quote(&args),
        CliCommand::Status(args) => live::list::status(&args),
        CliCommand::Jobs(args) => live::list::jobs(&args),
        CliCommand::Explain(args) => live::list::explain(&args),
        CliCommand::Wait(args) => live::act::wait(&args),
        CliCommand::Cancel(args) => live::act::post_action(&args, "cancel"),
        CliCommand::Hold(args) => live::act::post_action(&args, "hold"),
        CliCommand::Release(args) => live::act::post_action(&args, "release"),
        CliCommand::Logs(args) => live::act::logs(&args),
        CliCommand::Ledger(args) => live::list::ledger(&args),
        CliCommand::Nodes(args) => live::figures::nodes(&args),
        CliCommand::Calibration(args) => live::figures::calibration(&args),
        CliCommand::Worker(args) => live::worker::run(&args),
        CliCommand::Backup(args) => live::backup::back_up(&args),
        CliCommand::Restore(args) => live::backup::restore(&args),
        CliCommand::Check(args) => live::backup::check(&args),
        CliCommand::Token(args) => live::token::run(&args),
        CliCommand::Demo(args) => live::demo::run(&args),
        CliCommand::Generate(args) => live::generate::run(&args),
        CliCommand::Qsub(args) => front::run(FrontendTool::Qsub, &args.words),
        CliCommand::Qstat(args) => front::run(FrontendTool::Qstat, &args.words),
        CliCommand::Qdel(args) => front::run(FrontendTool::Qdel, &args.words),
        CliCommand::Trace(args) => trace::run(&args),
    };
    exit::finish(done)
}
