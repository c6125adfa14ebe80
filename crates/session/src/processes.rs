//! The processes of a session: which run, and how they start and end.

use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::net::sockopt::socket_peercred;
use rustix::process::Pid;
use tollgate_host::DetachedCommand;
use tollgate_inside::{NodeGroup, PersonalScheduler};
use tollgate_sites::KeepLock;
use tollgate_store::data_dir;

use crate::context::{SessionContext, SessionEvent};
use crate::error::SessionError;
use crate::folder::SessionFolder;
use crate::moving::SessionAgency;
use crate::record::InsideRecord;

/// The pause between two looks at the sites: pilots are to follow the work of a person.
const KEEP_EVERY: &str = "5s";
/// The hidden argument with which the program holds the terminal of a session.
pub const HOLDER_ARG: &str = "__session";

/// Starts those processes of a session that do not run: the service, the command that submits pilots,
/// and the terminal. That command writes to standard output what is done at the sites.
///
/// # Errors
/// If a process does not start.
pub fn ensure_running(
    folder: &SessionFolder,
    context: &SessionContext<'_>,
) -> Result<(), SessionError> {
    let record = folder.record()?;
    let inside = record.as_ref().and_then(|record| record.inside);
    let listen = record.and_then(|record| record.listen);
    if let Some(inside) = inside {
        ensure_scheduler(folder, inside)?;
    }
    if service_process(folder).is_none() {
        let data = folder.data();
        let mut words: Vec<&OsStr> = ["serve", "--detach", "--data"].map(OsStr::new).to_vec();
        words.push(data.as_os_str());
        if let Some(address) = &listen {
            words.extend([OsStr::new("--listen"), OsStr::new(address)]);
        }
        run_command(folder, context.program, &words)?;
    }
    if let Some(agency) = SessionAgency::find(folder) {
        let inside = inside.map(|_| folder.inside_dir());
        agency.ensure_running(folder, inside.as_deref(), context)?;
    } else if !KeepLock::is_held(&folder.sites_dir()) {
        // The first decision is made here, so that the user sees what the sites say. A site that does
        // not answer now is asked again.
        let mut command = Command::new(context.program);
        command.args(["site", "keep", "--base", "--once"]);
        if inside.is_some() {
            command.arg("--inside").arg(folder.inside_dir());
        }
        folder.enter(command.stdin(Stdio::null()));
        command.status().map_err(SessionError::own_program)?;
        start_keeper(folder, context.program, inside.is_some())?;
    }
    if UnixStream::connect(folder.terminal()).is_err() {
        let holder = DetachedCommand {
            what: "the terminal of the session",
            arguments: vec![HOLDER_ARG.into(), folder.name().into()],
            environment: folder.environment(),
            log: folder.log(),
        };
        let terminal = folder.terminal();
        context.start(&holder, &|_| UnixStream::connect(&terminal).is_ok())?;
    }
    Ok(())
}

impl SessionContext<'_> {
    /// Starts a process of a session, and reports what it wrote until it was ready.
    pub(crate) fn start(
        &self,
        command: &DetachedCommand,
        is_ready: &dyn Fn(Pid) -> bool,
    ) -> Result<(), SessionError> {
        let process = command.start(is_ready)?;
        for line in process.messages.lines() {
            (self.report)(SessionEvent::ProcessMessage(line.to_owned()));
        }
        Ok(())
    }
}

/// Starts the command that submits pilots.
pub(crate) fn start_keeper(
    folder: &SessionFolder,
    program: &Path,
    has_inside: bool,
) -> Result<(), SessionError> {
    let words = ["site", "keep", "--base", "--every", KEEP_EVERY, "--detach"];
    let mut words = words.map(OsStr::new).to_vec();
    let inside = folder.inside_dir();
    if has_inside {
        words.extend([OsStr::new("--inside"), inside.as_os_str()]);
    }
    run_command(folder, program, &words)
}

/// Starts the scheduler inside the pilots, unless it runs. After a restart of the host it has another
/// key, so that pilots of before do not come back, and still has its queue.
fn ensure_scheduler(folder: &SessionFolder, inside: InsideRecord) -> Result<(), SessionError> {
    if folder
        .scheduler()?
        .is_some_and(|scheduler| scheduler.is_up())
    {
        return Ok(());
    }
    let sites = folder.sites()?.sites;
    let groups = sites.iter().map(|site| NodeGroup {
        name: site.name.clone(),
        cores: site.cores,
        memory_mib: site.memory_mib,
        time_s: site.time_s,
    });
    let groups: Vec<NodeGroup> = groups.collect();
    PersonalScheduler::start(inside.kind, &folder.inside_dir(), inside.address, &groups)?;
    folder.write_environment()
}

/// Runs a command of the program in the environment of a session. Its messages are shown if it fails.
fn run_command(
    folder: &SessionFolder,
    program: &Path,
    words: &[&OsStr],
) -> Result<(), SessionError> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    folder.enter(command.stdout(Stdio::null()));
    let done = command.output().map_err(SessionError::own_program)?;
    if done.status.success() {
        return Ok(());
    }
    Err(SessionError::Process {
        name: folder.name().to_owned(),
        problem: String::from_utf8_lossy(&done.stderr).trim_end().to_owned(),
    })
}

/// Returns the process of the service of a session. None if it does not run.
pub fn service_process(folder: &SessionFolder) -> Option<Pid> {
    listener(&data_dir::socket(&folder.data()))
}

/// Returns the process that keeps the tasks of the service on this host. None if it does not run.
pub(crate) fn runner_process(folder: &SessionFolder) -> Option<Pid> {
    let runner = data_dir::engine_dir_in(&folder.data());
    listener(&tollgate_runner::socket_path(&runner))
}

/// Returns the process that holds the terminal of a session. None if it does not run.
pub fn holder_process(folder: &SessionFolder) -> Option<Pid> {
    listener(&folder.terminal())
}

/// Returns the process that listens on a socket.
fn listener(socket: &Path) -> Option<Pid> {
    let stream = UnixStream::connect(socket).ok()?;
    Some(socket_peercred(&stream).ok()?.pid)
}
