//! `tollgate session`: a log-in session on a cluster of one's own, made of pilots at several sites
//! (Walker 2009, §II.A).
//!
//! A session is a directory with a service, the sites of the session, and a shell on a terminal. Each of
//! the three is a process of its own, which outlives the terminal that it was started from; `start` and
//! `attach` start those that are missing.
//!
//! | module | contents |
//! |---|---|
//! | [`folder`] | the directory of a session, and the environment of its processes |
//! | [`start`] | `tollgate session start`: the processes of a session |
//! | [`drop`] | `tollgate session drop` |
//! | [`moving`] | the agents of a session whose pilots move |
//! | [`attach`] | `tollgate session attach` and `detach` |
//! | [`login`] | the process on the terminal: it runs the user's shell, and ends the session after it |
//! | [`shell`] | `tollgate session shell`: a job on this terminal |
//! | [`exit`] | `tollgate session exit`: nothing is left, at no site |
//! | [`list`] | `tollgate session list` |
//! | [`agents`] | `tollgate session agents`: the pilots at each site |
//! | [`agreement`] | the part of it about agents |
//! | [`error`] | the errors of these commands |

mod agents;
mod agreement;
mod attach;
mod drop;
mod error;
mod exit;
mod folder;
mod list;
mod login;
mod moving;
mod shell;
mod start;

use clap::Subcommand;

pub(crate) use self::agents::SessionAgents;
pub(crate) use self::list::SessionList;
pub(crate) use self::login::{LOGIN_ARG, log_in};
pub(crate) use self::start::{HOLDER_ARG, hold};

use crate::exit::CliFailure;

/// The options of `tollgate session`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    Start(Box<start::SessionStartArgs>),
    Attach(Box<attach::SessionAttachArgs>),
    Detach(attach::SessionDetachArgs),
    Shell(Box<shell::SessionShellArgs>),
    Exit(exit::SessionExitArgs),
    Drop(drop::SessionDropArgs),
    List(list::SessionListArgs),
    Agents(agents::SessionAgentsArgs),
}

/// `tollgate session`.
pub(crate) fn run(args: &SessionArgs) -> Result<(), CliFailure> {
    match &args.command {
        SessionCommand::Start(args) => start::run(args),
        SessionCommand::Attach(args) => attach::run(args),
        SessionCommand::Detach(args) => attach::detach(args),
        SessionCommand::Shell(args) => shell::run(args),
        SessionCommand::Exit(args) => exit::run(args),
        SessionCommand::Drop(args) => drop::run(args),
        SessionCommand::List(args) => list::run(args),
        SessionCommand::Agents(args) => agents::run(args),
    }
}
