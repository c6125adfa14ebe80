//! Processes that the program starts of itself: users never type their first argument.

use std::ffi::OsString;
use std::process::ExitCode;

use tollgate_batch::LOCAL_QUEUE_ARG;
use tollgate_engine::part::PART_ARG;
use tollgate_runner::attempt::ATTEMPT_ARG;
use tollgate_session::{HOLDER_ARG, LOGIN_ARG};
use tollgate_sites::EXECUTION_NODE_ARG;
use tollgate_terminal::{JOB_COMMAND_ARG, TTY_COMMAND_ARG, run_job_command, run_tty_command};

use crate::{operate, reach};

/// Runs the process that the first argument after the program's name asks for, and returns its exit code.
/// None if that is a command of the user's.
pub(super) fn run(words: &[OsString]) -> Option<ExitCode> {
    let mut words = words.iter().skip(1).cloned();
    let code = match words.next()? {
        word if word == operate::serve::RUNNER_ARG => tollgate_runner::main(words),
        word if word == operate::serve::STARTER_ARG => tollgate_runner::starter::main(words),
        word if word == ATTEMPT_ARG => tollgate_runner::attempt::main(words),
        word if word == LOCAL_QUEUE_ARG => reach::site::local_queue(words),
        word if word == reach::site::NODE_PROBE_ARG => reach::site::probe_node(words),
        word if word == EXECUTION_NODE_ARG => reach::execution_node::main(words),
        word if word == TTY_COMMAND_ARG => run_tty_command(words),
        word if word == JOB_COMMAND_ARG => run_job_command(words),
        word if word == HOLDER_ARG => reach::session::hold(words),
        word if word == LOGIN_ARG => reach::session::log_in(words),
        word if word == PART_ARG => tollgate_spread::part::main(),
        _ => return None,
    };
    Some(code)
}
