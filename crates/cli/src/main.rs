//! The `tollgate` program: parses words, calls the rooms, prints.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | the words that are understood |
//! | [`calendar`] | dates |
//! | [`csv_rows`] | rows of CSV with the keys of JSON as columns |
//! | [`exit`] | what can go wrong, in one message each, and the exit codes |
//! | [`policies`] | `tollgate policies` |
//! | [`replay`] | `tollgate replay` |
//! | [`study`] | `tollgate study` |
//! | [`forecast`] | `tollgate forecast` |
//! | [`in_order`] | work in parallel, results in order |
//! | [`progress`] | a bar for long runs on a terminal |
//! | [`voice`] | what is said on standard error |
//!
//! Data goes to standard output, everything that is said about it to standard error.

mod args;
mod calendar;
mod csv_rows;
mod exit;
mod forecast;
mod in_order;
mod policies;
mod progress;
mod replay;
mod study;
mod voice;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Replay(args) => replay::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Forecast(args) => forecast::run(&args),
        Command::Study(args) => study::run(&args),
    };
    exit::conclude(done)
}
