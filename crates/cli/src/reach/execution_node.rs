//! `tollgate __execution-node`: a pilot that is an execution daemon of a personal scheduler.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use tollgate_inside::{ExecutionNode, InsideError, NodeOptions, guard};
use tollgate_sites::EXECUTION_NODE_ARG;

use super::pilot::resolve_end;
use crate::args::{parse_count, parse_integer};
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::messages::{Verbosity, print_error};
use crate::parse;

/// The argument with which the second process of the pilot is started.
const SECOND_ARG: &str = "--second";

/// The arguments that a pilot's script gives.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct NodeArgs {
    /// End of the pilot
    #[arg(long)]
    until: Option<String>,
    /// Time without a job after which the node leaves
    #[arg(long, value_parser = parse::parse_span)]
    idle: f64,
    /// Name of the site
    #[arg(long)]
    site: String,
    /// Number of the pilot at its site
    #[arg(long, value_parser = parse_count::<u32>)]
    number: u32,
    /// Number of cores
    #[arg(long, value_parser = parse_count::<u32>)]
    cores: u32,
    /// Memory in MiB
    #[arg(long, value_parser = parse_integer::<u64>)]
    memory_mib: Option<u64>,
    /// File with the ticket
    #[arg(long)]
    ticket: PathBuf,
    /// Directory of the pilot
    #[arg(long)]
    data: PathBuf,
    /// Run the daemon; without it, start a process that does, and outlive it
    #[arg(long)]
    second: bool,
}

/// Runs the pilot.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    match run(&words) {
        Ok(code) => code,
        Err(failure) => {
            print_error(&failure, failure.hint().as_deref());
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[OsString]) -> Result<ExitCode, CliFailure> {
    let args = NodeArgs::try_parse_from(words)
        .map_err(|error| CliFailure::invalid_flag("arguments", error.to_string()))?;
    if !args.second {
        let program = env::current_exe()
            .map_err(|error| CliFailure::read_failed("this program".to_owned(), error))?;
        let mut second = Command::new(program);
        second.arg(EXECUTION_NODE_ARG).args(words).arg(SECOND_ARG);
        let status = guard::supervise(second)?;
        return Ok(match status.success() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    let until = args.until.as_deref().map(resolve_end).transpose()?;
    let node = ExecutionNode::join(NodeOptions {
        site: args.site,
        number: args.number,
        cores: args.cores,
        memory_mib: args.memory_mib,
        until,
        idle: Duration::from_secs_f64(args.idle),
        dir: std::path::absolute(&args.data).unwrap_or(args.data),
        ticket: args.ticket,
    })?;
    let reason = node.run()?;
    Verbosity::Notes.note(format_args!("the node left: {reason}"));
    Ok(ExitCode::SUCCESS)
}

/// The personal scheduler cannot be used.
impl CliError for InsideError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Root | Self::LongPath { .. } => ExitKind::Usage,
            Self::NoProgram { .. }
            | Self::OtherAccount { .. }
            | Self::NoName(_)
            | Self::File { .. }
            | Self::System { .. }
            | Self::Shell(_)
            | Self::Command { .. }
            | Self::NotReady { .. }
            | Self::Ticket { .. }
            | Self::NoScheduler(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        self.hint().map(std::borrow::Cow::Borrowed)
    }
}
