//! `tollgate session exit`: nothing is left, at no site.

use tollgate_session::{ExitOptions, SessionFolder, exit_session};

use super::events::SessionPrinter;
use crate::exit::CliFailure;

/// End a session: its jobs, its pilots, its service.
///
/// Returns when no site has a pilot of the session. The history of its jobs stays for a session of the
/// same name.
#[derive(Debug, clap::Args)]
pub(super) struct SessionExitArgs {
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
    /// Cancel unfinished jobs; do not wait for sites that fail
    #[arg(long)]
    force: bool,
    /// Remove the history of the session, too
    #[arg(long)]
    forget: bool,
}

/// `tollgate session exit`.
pub(super) fn run(args: &SessionExitArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let options = ExitOptions {
        force: args.force,
        forget: args.forget,
    };
    SessionPrinter::new()?.watch(|context| exit_session(&folder, options, context))
}
