//! `--detach`: a service, or another command, that outlives its terminal.

use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::sockopt::socket_peercred;
use rustix::process::Pid;
use tollgate_client::ApiClient;
use tollgate_client::types::ServiceStatus;
use tollgate_host::{DetachError, DetachedCommand};
use tollgate_store::data_dir;

use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::messages::Verbosity;

/// The log file of a detached service, in the data directory.
const LOG_FILE: &str = "service.log";

/// The command does not run in the background.
impl CliError for DetachError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// Starts `tollgate serve` with the same arguments in a session of its own. Returns once the
/// service answers at the socket in `data`.
///
/// # Errors
/// An error if the service ends, as on a data directory in use, or does not answer within two
/// minutes.
pub(crate) fn detach(data: &Path) -> Result<(), CliFailure> {
    let log = data.join(LOG_FILE);
    let service = DetachedCommand::again("the service", log.clone());
    let pid = start_detached(&service, &|own| is_ready(data, own))?;
    Verbosity::Notes.note(format_args!(
        "process {pid}, log {}; `kill {pid}` stops it, its jobs go on, and the next `serve` finds them",
        log.display()
    ));
    Ok(())
}

/// Starts a command in a session of its own, and shows what it wrote until it was ready. Returns its process id.
///
/// # Errors
/// As [`DetachedCommand::start`].
pub(crate) fn start_detached(
    command: &DetachedCommand,
    is_ready: &dyn Fn(Pid) -> bool,
) -> Result<u32, DetachError> {
    let process = command.start(is_ready)?;
    for line in process.messages.lines() {
        Verbosity::Notes.note(line);
    }
    Ok(process.pid)
}

/// Returns whether the process `own` answers at the socket in `data`. Another service may hold the
/// directory.
fn is_ready(data: &Path, own: Pid) -> bool {
    let socket = data_dir::socket(data);
    let listener = UnixStream::connect(&socket).and_then(|stream| Ok(socket_peercred(&stream)?));
    let is_ours = listener.is_ok_and(|listener| listener.pid == own);
    let status = || ApiClient::connect(&socket)?.get::<ServiceStatus>("/v1/status");
    is_ours && status().is_ok()
}
