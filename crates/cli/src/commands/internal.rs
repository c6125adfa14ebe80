//! Processes that the program starts of itself: users never type their first argument.

use std::ffi::OsString;
use std::iter::Cloned;
use std::process::ExitCode;
use std::slice::Iter;

use tollgate_batch::LOCAL_QUEUE_ARG;
use tollgate_engine::part::PART_ARG;
use tollgate_runner::attempt::ATTEMPT_ARG;
use tollgate_session::{HOLDER_ARG, LOGIN_ARG};
use tollgate_sites::EXECUTION_NODE_ARG;
use tollgate_terminal::{JOB_COMMAND_ARG, TTY_COMMAND_ARG, run_job_command, run_tty_command};

use crate::{operate, reach};

/// A process that the program starts of itself.
pub(super) struct InternalProcess {
    /// The first argument after the program's name.
    pub(super) arg: &'static str,
    /// What the process does.
    pub(super) about: &'static str,
    /// Runs it with the other arguments.
    main: fn(Cloned<Iter<'_, OsString>>) -> ExitCode,
}

/// Every process that the program starts of itself.
pub(super) const INTERNAL_PROCESSES: &[InternalProcess] = &[
    InternalProcess {
        arg: operate::serve::RUNNER_ARG,
        about: "The runner of a host: starts, watches and ends attempts.",
        main: |words| tollgate_runner::main(words),
    },
    InternalProcess {
        arg: operate::serve::STARTER_ARG,
        about: "Starts runners as root for a service that has given up root.",
        main: |words| tollgate_runner::starter::main(words),
    },
    InternalProcess {
        arg: ATTEMPT_ARG,
        about: "Runs one attempt inside a job of a batch system.",
        main: |words| tollgate_runner::attempt::main(words),
    },
    InternalProcess {
        arg: LOCAL_QUEUE_ARG,
        about: "The queue of the batch system `local` of a site.",
        main: |words| reach::site::local_queue(words),
    },
    InternalProcess {
        arg: reach::site::NODE_PROBE_ARG,
        about: "Reports from a node of a site whether it reaches the service.",
        main: |words| reach::site::probe_node(words),
    },
    InternalProcess {
        arg: EXECUTION_NODE_ARG,
        about: "An execution daemon of a personal Slurm or HTCondor, inside a pilot.",
        main: |words| reach::execution_node::main(words),
    },
    InternalProcess {
        arg: TTY_COMMAND_ARG,
        about: "A command on a terminal of its own.",
        main: |words| run_tty_command(words),
    },
    InternalProcess {
        arg: JOB_COMMAND_ARG,
        about: "The command of a job on a terminal.",
        main: |words| run_job_command(words),
    },
    InternalProcess {
        arg: HOLDER_ARG,
        about: "Holds the terminal of a session.",
        main: |words| reach::session::hold(words),
    },
    InternalProcess {
        arg: LOGIN_ARG,
        about: "The log-in shell of a session.",
        main: |words| reach::session::log_in(words),
    },
    InternalProcess {
        arg: PART_ARG,
        about: "Copies of a program on one host of a job, for `tollgate spread`.",
        main: |_| tollgate_spread::part::main(),
    },
];

/// Runs the process that the first argument after the program's name asks for, and returns its exit code.
/// None if that is a command of the user's.
pub(super) fn run(words: &[OsString]) -> Option<ExitCode> {
    let [_, first, others @ ..] = words else {
        return None;
    };
    let mut processes = INTERNAL_PROCESSES.iter();
    let process = processes.find(|process| first == process.arg)?;
    Some((process.main)(others.iter().cloned()))
}
