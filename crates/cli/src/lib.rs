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

use crate::args::Command;
use crate::live::detach::DETACHED;
use crate::live::front::{self, Tool};

/// The program: does what the words of the process say, and ends with the exit code of the table.
pub fn main() -> ExitCode {
    let mut words = env::args_os();
    if let Some(tool) = words.next().as_deref().and_then(Tool::called) {
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return exit::conclude(front::run(tool, &words));
    }
    let mut detached = false;
    match words.next() {
        Some(word) if word == live::serve::RUNNER => return tollgate_engine::runner::main(words),
        Some(word) if word == live::serve::STARTER => return tollgate_engine::starter::main(words),
        Some(word) => detached = word == DETACHED,
        None => {}
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    if detached {
        live::detach::leave_session();
        words.remove(1);
    }
    let done = match args::parse(words).command {
        Command::Replay(args) => replay::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Forecast(args) => forecast::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Serve(args) => live::serve::run(&args),
        Command::Submit(args) => live::submit::submit(&args),
        Command::Quote(args) => live::submit::quote(&args),
        Command::Status(args) => live::list::status(&args),
        Command::Jobs(args) => live::list::jobs(&args),
        Command::Explain(args) => live::list::explain(&args),
        Command::Wait(args) => live::act::wait(&args),
        Command::Cancel(args) => live::act::act(&args, "cancel"),
        Command::Hold(args) => live::act::act(&args, "hold"),
        Command::Release(args) => live::act::act(&args, "release"),
        Command::Logs(args) => live::act::logs(&args),
        Command::Ledger(args) => live::list::ledger(&args),
        Command::Nodes(args) => live::figures::nodes(&args),
        Command::Calibration(args) => live::figures::calibration(&args),
        Command::Worker(args) => live::worker::run(&args),
        Command::Backup(args) => live::backup::back_up(&args),
        Command::Restore(args) => live::backup::restore(&args),
        Command::Check(args) => live::backup::check(&args),
        Command::Token(args) => live::token::run(&args),
        Command::Demo(args) => live::demo::run(&args),
        Command::Generate(args) => live::generate::run(&args),
        Command::Qsub(args) => front::run(Tool::Qsub, &args.words),
        Command::Qstat(args) => front::run(Tool::Qstat, &args.words),
        Command::Qdel(args) => front::run(Tool::Qdel, &args.words),
        Command::Trace(args) => trace::run(&args),
    };
    exit::conclude(done)
}
