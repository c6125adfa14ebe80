//! The `tollgate` program, which parses arguments, calls the other crates, and prints.
//!
//! | module | contents |
//! |---|---|
//! | `args` | the command line |
//! | `atomic_output` | standard output, or a file that appears only when complete |
//! | `calendar` | dates |
//! | `campus` | `tollgate campus` |
//! | `csv_output` | rows of CSV with the keys of JSON as columns |
//! | `exit` | the exit codes and the errors of commands |
//! | `policies` | `tollgate policies` |
//! | `record_filter` | the flags that select a part of a record |
//! | `replay` | `tollgate replay` |
//! | `study` | `tollgate study` |
//! | `client` | `tollgate serve` and its clients: `submit`, `status`, .. |
//! | `trace` | `tollgate trace` |
//! | `forecast` | `tollgate forecast` |
//! | `parallel` | work in parallel, results in order |
//! | `progress` | how far long work is: a line on a terminal, notes elsewhere |
//! | `text_table` | tables for people |
//! | `messages` | messages on standard error |
//! | `missing_requests` | notes on jobs whose record has no request |
//!
//! Data goes to standard output, and messages go to standard error.

mod args;
mod atomic_output;
mod calendar;
mod campus;
mod client;
mod csv_output;
mod exit;
mod forecast;
#[doc(hidden)]
pub mod fuzz;
mod messages;
mod missing_requests;
mod parallel;
mod policies;
mod progress;
mod record_filter;
mod replay;
mod study;
mod text_table;
mod trace;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use tollgate_batch::LOCAL_QUEUE_ARG;
use tollgate_client::types::JobAction;
use tollgate_engine::part::PART_ARG;
use tollgate_exec_policy::EXEC_POLICY;
use tollgate_policies::builtin_registry;
use tollgate_policy::PolicyRegistry;
use tollgate_runner::attempt::ATTEMPT_ARG;
use tollgate_sites::EXECUTION_NODE_ARG;
use tollgate_terminal::{JOB_COMMAND_ARG, TTY_COMMAND_ARG, run_job_command, run_tty_command};

use crate::args::CliCommand;
use crate::client::detach::DETACHED_ARG;
use crate::client::frontends::{self, FrontendTool};

/// Returns the policies of `tollgate`: those that are built in, and `exec`, another program.
pub fn policy_registry() -> PolicyRegistry {
    builtin_registry().with(EXEC_POLICY)
}

/// Runs the program with the policies of [`policy_registry`]; see [`main_with`].
pub fn main() -> ExitCode {
    main_with(&policy_registry())
}

/// Runs the program with the arguments of the process and the policies of a registry, and returns
/// an exit code of the table in `exit`. A program with policies of its own is a `main` that calls
/// this function, and has every command of `tollgate`:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use tollgate_cli::policy_registry;
///
/// fn main() -> ExitCode {
///     // With policies of your own: `.with(MY_POLICY)`.
///     tollgate_cli::main_with(&policy_registry())
/// }
/// ```
pub fn main_with(registry: &PolicyRegistry) -> ExitCode {
    let mut words = env::args_os();
    if let Some(tool) = words
        .next()
        .as_deref()
        .and_then(FrontendTool::from_program_name)
    {
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return exit::finish(frontends::run(tool, &words));
    }
    let mut detached = false;
    match words.next() {
        Some(word) if word == client::serve::RUNNER_ARG => {
            return tollgate_runner::main(words);
        }
        Some(word) if word == client::serve::STARTER_ARG => {
            return tollgate_runner::starter::main(words);
        }
        Some(word) if word == ATTEMPT_ARG => return tollgate_runner::attempt::main(words),
        Some(word) if word == LOCAL_QUEUE_ARG => return client::site::local_queue(words),
        Some(word) if word == client::site::NODE_PROBE_ARG => {
            return client::site::probe_node(words);
        }
        Some(word) if word == EXECUTION_NODE_ARG => return client::execution_node::main(words),
        Some(word) if word == TTY_COMMAND_ARG => return run_tty_command(words),
        Some(word) if word == JOB_COMMAND_ARG => return run_job_command(words),
        Some(word) if word == client::session::HOLDER_ARG => return client::session::hold(words),
        Some(word) if word == client::session::LOGIN_ARG => return client::session::log_in(words),
        Some(word) if word == PART_ARG => return tollgate_spread::part::main(),
        Some(word) => detached = word == DETACHED_ARG,
        None => {}
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    if detached {
        client::detach::leave_session();
        words.remove(1);
    }
    let done = match args::parse(words).command {
        CliCommand::Replay(args) => replay::run(&args, registry),
        CliCommand::Campus(args) => campus::run(&args),
        CliCommand::Policies(args) => policies::run(&args, registry),
        CliCommand::Forecast(args) => forecast::run(&args),
        CliCommand::Study(args) => study::run(&args, registry),
        CliCommand::Serve(args) => client::serve::run(&args, registry),
        CliCommand::Submit(args) => client::submit::submit(&args),
        CliCommand::Quote(args) => client::submit::quote(&args),
        CliCommand::Status(args) => client::list::status(&args),
        CliCommand::Jobs(args) => client::jobs::jobs(&args),
        CliCommand::Explain(args) => client::list::explain(&args),
        CliCommand::Wait(args) => client::wait::wait(&args),
        CliCommand::Grant(args) => client::grant::run(&args),
        CliCommand::Drain(args) => client::drain::drain(&args),
        CliCommand::Resume(args) => client::drain::resume(&args),
        CliCommand::Alter(args) => client::alter::alter(&args),
        CliCommand::Cancel(args) => client::act::post_action(&args, JobAction::Cancel),
        CliCommand::Hold(args) => client::act::post_action(&args, JobAction::Hold),
        CliCommand::Release(args) => client::act::post_action(&args, JobAction::Release),
        CliCommand::Logs(args) => client::logs::logs(&args),
        CliCommand::Ledger(args) => client::list::ledger(&args),
        CliCommand::Usage(args) => client::usage::run(&args),
        CliCommand::Export(args) => client::export::run(&args),
        CliCommand::Prune(args) => client::prune::run(&args),
        CliCommand::Nodes(args) => client::figures::nodes(&args),
        CliCommand::Calibration(args) => client::figures::calibration(&args),
        CliCommand::Worker(args) => client::worker::run(&args),
        CliCommand::Site(args) => client::site::run(&args),
        CliCommand::Agent(args) => client::site::agent::run(&args),
        CliCommand::Cluster(args) => client::cluster::run(&args),
        CliCommand::Session(args) => client::session::run(&args),
        CliCommand::Spread(args) => client::spread::run(&args),
        CliCommand::Learn(args) => client::learn::run(&args),
        CliCommand::Backup(args) => client::backup::back_up(&args, registry),
        CliCommand::Restore(args) => client::backup::restore(&args, registry),
        CliCommand::Check(args) => client::backup::check(&args, registry),
        CliCommand::Token(args) => client::token::run(&args),
        CliCommand::Demo(args) => client::demo::run(&args),
        CliCommand::Generate(args) => client::generate::run(&args),
        CliCommand::Qsub(args) => frontends::run(FrontendTool::Qsub, &args.words),
        CliCommand::Qstat(args) => frontends::run(FrontendTool::Qstat, &args.words),
        CliCommand::Qdel(args) => frontends::run(FrontendTool::Qdel, &args.words),
        CliCommand::Trace(args) => trace::run(&args),
    };
    exit::finish(done)
}
