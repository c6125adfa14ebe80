//! `tollgate session attach` and `tollgate session detach`.

use std::os::unix::net::UnixStream;

use tollgate_client::ApiClient;
use tollgate_terminal::{
    AttachEnd, AttachError, AttachOptions, EndOfInput, TerminalAccess, UserTerminal, attach,
    detach_all,
};

use super::error::SessionError;
use super::folder::SessionFolder;
use super::start::ensure_running;
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
    if let Some(name) = super::folder::own_session() {
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
        return attach_stream(
            stream,
            &format!("at {url}"),
            &format!("--url {url}"),
            access,
        );
    }
    let folder = SessionFolder::find(args.name.as_deref())?;
    if !folder.record()?.is_some_and(|record| record.goes_on()) {
        return Err(SessionError::Ended(folder.name().to_owned()).into());
    }
    let lock = folder.lock()?;
    ensure_running(&folder)?;
    drop(lock);
    attach_terminal(&folder, access)
}

/// `tollgate session detach`.
pub(super) fn detach(args: &SessionDetachArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let socket = folder.terminal();
    let detached = detach_all(&socket)
        .map_err(|error| CliFailure::read_failed(socket.display().to_string(), error))?;
    let terminals = pluralise(detached as usize, "terminal");
    Verbosity::Notes.note(format_args!(
        "session {}: {terminals} detached",
        folder.name()
    ));
    Ok(())
}

/// Attaches this terminal to the shell of a session.
pub(super) fn attach_terminal(
    folder: &SessionFolder,
    access: TerminalAccess,
) -> Result<(), CliFailure> {
    let socket = folder.terminal();
    let stream = UnixStream::connect(&socket)
        .map_err(|error| CliFailure::read_failed(socket.display().to_string(), error))?;
    attach_stream(stream, folder.name(), folder.name(), access)
}

/// Attaches this terminal to the other end of a stream. `name` names the session in messages, and
/// `argument` in commands.
fn attach_stream(
    stream: UnixStream,
    name: &str,
    argument: &str,
    access: TerminalAccess,
) -> Result<(), CliFailure> {
    let options = AttachOptions {
        access,
        end_of_input: EndOfInput::PassOn,
    };
    let terminal = UserTerminal::standard().map_err(AttachError::Terminal);
    let ended = terminal.and_then(|terminal| attach(stream, &terminal, &options));
    match ended.map_err(|error| attach_error(name, error))? {
        AttachEnd::Detached(_) => {
            Verbosity::Notes.note(format_args!(
                "detached; `tollgate session attach {argument}` goes on with the session"
            ));
            Ok(())
        }
        AttachEnd::Ended(0) => Ok(()),
        AttachEnd::Ended(code) => Err(ClientCommandError::JobStatus(code).into()),
        AttachEnd::Signal(signal) => {
            Err(ClientCommandError::JobStatus(signal.saturating_add(128)).into())
        }
        AttachEnd::Lost => {
            let problem = "the terminal of the session is gone".to_owned();
            let name = name.to_owned();
            Err(SessionError::Process { name, problem }.into())
        }
    }
}

fn attach_error(name: &str, error: AttachError) -> SessionError {
    let name = name.to_owned();
    match error {
        AttachError::Occupied { .. } => SessionError::Occupied {
            name,
            problem: error.to_string(),
        },
        AttachError::Message(_) | AttachError::Terminal(_) => SessionError::Process {
            name,
            problem: error.to_string(),
        },
    }
}
