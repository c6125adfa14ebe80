//! `tollgate session`: a log-in session on a cluster of one's own, made of pilots at several sites
//! (Walker 2009, §II.A).
//!
//! The crate `session` has the sessions; here are their commands.
//!
//! | module | contents |
//! |---|---|
//! | [`start`] | `tollgate session start` |
//! | [`attach`] | `tollgate session attach` and `detach` |
//! | [`login`] | the process on the terminal of a session |
//! | [`shell`] | `tollgate session shell`: a job on this terminal |
//! | [`exit`] | `tollgate session exit`: nothing is left, at no site |
//! | [`drop`] | `tollgate session drop` |
//! | [`list`] | `tollgate session list` |
//! | [`agents`] | `tollgate session agents`: the pilots at each site |
//! | [`agreement`] | the part of it about agents |
//! | [`events`] | the messages of sessions that start and end |
//! | [`error`] | exit codes and hints |

mod agents;
mod agreement;
mod attach;
mod drop;
mod error;
mod events;
mod exit;
mod list;
mod login;
mod shell;
mod start;

use clap::Subcommand;

pub(crate) use self::agents::SessionAgents;
pub(crate) use self::list::SessionList;
pub(crate) use self::login::log_in;
pub(crate) use self::start::hold;

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
