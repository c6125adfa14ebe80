//! The `tollgate` program, which parses arguments, calls the other crates, and prints.
//!
//! | module | contents |
//! |---|---|
//! | `commands` | the commands: the only module that knows them all |
//! | `args` | what the options of commands share |
//! | `jobs` | commands about jobs |
//! | `operate` | commands of operators |
//! | `reach` | commands about other hosts: sites, sessions, clusters, pilots |
//! | `beside` | commands beside a scheduler that others run: `beside`, `eta` |
//! | `simulate` | commands without a service: `replay`, `study`, `forecast`, `trace`, .. |
//! | `connection` | the connection to a service |
//! | `output` | what commands print: tables, JSON, CSV, messages and files |
//! | `parse` | the values of options: spans, instants, amounts |
//! | `exit` | the exit codes and the errors of commands |

mod args;
mod beside;
mod commands;
mod connection;
mod exit;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod jobs;
mod operate;
mod output;
mod parse;
mod reach;
mod simulate;

use std::env;
use std::process::ExitCode;

use tollgate_exec_policy::EXEC_POLICY;
use tollgate_policies::builtin_registry;
use tollgate_policy::PolicyRegistry;

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
    commands::main(env::args_os().collect(), registry)
}
