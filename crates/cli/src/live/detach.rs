//! `tollgate serve --detach`: a service that outlives the terminal it was started from.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::setsid;
use tollgate_service::{Client, Folder, folder};

use crate::exit::{Complaint, Exit, Failure};
use crate::voice::Voice;

/// The word behind which the program runs in a session of its own.
pub(crate) const DETACHED: &str = "__detached";

/// Where a detached service writes its messages, in the data directory.
const LOG_FILE: &str = "service.log";

/// How long a service may take until it answers: it may have a long store to recover.
const MAX_STARTUP: Duration = Duration::from_secs(120);

/// The pause between two looks at whether it answers.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why a service could not be detached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DetachError {
    /// The service ended before it answered.
    #[error("the service ended at once ({status}):\n{messages}")]
    Ended {
        status: ExitStatus,
        messages: String,
    },
    /// The service runs, and does not answer in time.
    #[error("process {pid} does not answer after {} s: see {}", MAX_STARTUP.as_secs(), log.display())]
    Silent { pid: u32, log: PathBuf },
}

impl Complaint for DetachError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

/// Leaves the terminal's session: what ends it no longer ends this process.
pub(crate) fn leave_session() {
    // It fails only for a process that leads a group already, and that has left its session.
    let _ = setsid();
}

/// Starts `tollgate serve` with the same arguments in a session of its own, and returns once it
/// answers at the socket in `data`.
///
/// # Errors
/// If the data directory is in use, or the service ends, or does not answer within two minutes.
pub(super) fn detach(data: &Path, voice: Voice) -> Result<(), Failure> {
    // Locked and let go again: what is wrong with the directory is said here and not in the log.
    let data = Folder::lock(data)?.path().to_owned();
    let log = data.join(LOG_FILE);
    let (child, said_before) =
        start(&log).map_err(|error| Failure::write(log.display().to_string(), error))?;
    let pid = child.id();
    wait_until_it_answers(child, &data, &log, said_before)?;
    voice.note(format_args!(
        "the service is process {pid}; stop it with `kill {pid}`: jobs go on, and the next `serve` finds them"
    ));
    voice.note(format_args!("its messages are in {}", log.display()));
    if env::var_os("XDG_SESSION_ID").is_some() {
        voice.note("if it must outlive your log-out on a host with systemd: `loginctl enable-linger`");
    }
    Ok(())
}

/// Starts the service; returns it with the length of the log before.
fn start(log: &Path) -> io::Result<(Child, u64)> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(log)?;
    let said_before = file.metadata()?.len();
    let arguments = env::args_os().skip(1).filter(|word| word != "--detach");
    let arguments = [OsString::from(DETACHED)].into_iter().chain(arguments);
    let child = Command::new(env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()?;
    Ok((child, said_before))
}

fn wait_until_it_answers(
    mut child: Child,
    data: &Path,
    log: &Path,
    said_before: u64,
) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let ended = child.try_wait();
        if let Some(status) = ended.map_err(|error| Failure::read("the service".to_owned(), error))? {
            let messages = said_since(log, said_before).unwrap_or_default();
            return Err(DetachError::Ended { status, messages }.into());
        }
        if Client::connect(&folder::socket(data)).is_ok() {
            return Ok(());
        }
        if began.elapsed() > MAX_STARTUP {
            let log = log.to_owned();
            return Err(DetachError::Silent { pid: child.id(), log }.into());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// What was written to the log behind its first `length` bytes.
fn said_since(log: &Path, length: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(length))?;
    let mut said = String::new();
    file.read_to_string(&mut said)?;
    Ok(said.trim_end().to_owned())
}
