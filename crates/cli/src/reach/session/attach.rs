//! `tollgate session attach` and `tollgate session detach`.

use tollgate_client::ApiClient;
use tollgate_session::{
    SessionError, SessionFolder, TerminalEnd, attach_stream, attach_terminal, detach_terminals,
    ensure_running, own_session,
};
use tollgate_terminal::TerminalAccess;

use super::events::SessionPrinter;
use crate::connection::endpoint::{CONNECTION_HEADING, CredentialArgs};
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Attach this terminal to a session.
///
/// Ctrl-] and d detach it again. Processes of the session that do not run are started, unless the session
/// is on another host.
#[derive(Debug, clap::Args)]
pub(super) struct SessionAttachArgs {
    /// Name of the session [default: the only one that goes on]
    #[arg(conflicts_with = "url")]
    name: Option<String>,
    /// Show the session without typing in it
    #[arg(long)]
    read_only: bool,
    /// Detach another terminal that is attached
    #[arg(long, conflicts_with = "read_only")]
    take: bool,
    /// URL of a session on another host, https://HOST:PORT
    #[arg(long, value_name = "URL", help_heading = CONNECTION_HEADING)]
    url: Option<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Detach all terminals from a session, which goes on.
#[derive(Debug, clap::Args)]
pub(super) struct SessionDetachArgs {
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
}

/// `tollgate session attach`.
pub(super) fn run(args: &SessionAttachArgs) -> Result<(), CliFailure> {
    if let Some(name) = own_session() {
        return Err(SessionError::Inside(name).into());
    }
    let access = match (args.read_only, args.take) {
        (true, _) => TerminalAccess::ReadOnly,
        (false, true) => TerminalAccess::TakeOver,
        (false, false) => TerminalAccess::Write,
    };
    if let Some(url) = &args.url {
        let remote = args.credentials.connect_info(url.clone())?;
        let stream = ApiClient::connect_to(&remote)?.attach()?;
        let ended = attach_stream(stream, &format!("at {url}"), access)?;
        return finish(ended, &format!("--url {url}"));
    }
    let folder = SessionFolder::find(args.name.as_deref())?;
    if !folder.goes_on()? {
        return Err(SessionError::Ended(folder.name().to_owned()).into());
    }
    let lock = folder.lock()?;
    SessionPrinter::new()?.watch(|context| ensure_running(&folder, context))?;
    drop(lock);
    attach_to(&folder, access)
}

/// `tollgate session detach`.
pub(super) fn detach(args: &SessionDetachArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let detached = detach_terminals(&folder)?;
    let terminals = pluralise(detached as usize, "terminal");
    Verbosity::Notes.note(format_args!(
        "session {}: {terminals} detached",
        folder.name()
    ));
    Ok(())
}

/// Attaches this terminal to the shell of a session of this host.
pub(super) fn attach_to(folder: &SessionFolder, access: TerminalAccess) -> Result<(), CliFailure> {
    finish(attach_terminal(folder, access)?, folder.name())
}

/// Returns what becomes of this command. `argument` names the session in commands.
fn finish(ended: TerminalEnd, argument: &str) -> Result<(), CliFailure> {
    match ended {
        TerminalEnd::Detached(_) => {
            Verbosity::Notes.note(format_args!(
                "detached; `tollgate session attach {argument}` goes on with the session"
            ));
            Ok(())
        }
        TerminalEnd::Ended(0) => Ok(()),
        TerminalEnd::Ended(code) => Err(ClientCommandError::JobStatus(code).into()),
        TerminalEnd::Signal(signal) => {
            Err(ClientCommandError::JobStatus(signal.saturating_add(128)).into())
        }
    }
}
