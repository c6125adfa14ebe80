//! The process that holds the terminal of a session.

use std::env;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tollgate_sites::KeepLock;
use tollgate_terminal::{HolderOptions, hold};

use crate::error::SessionError;
use crate::folder::SessionFolder;
use crate::login::LOGIN_ARG;
use crate::moving::SessionAgency;
use crate::processes::start_keeper;

/// The pause between two looks at the command that submits pilots.
const KEEPER_CHECK: Duration = Duration::from_secs(10);

/// Holds the terminal of a session until its shells have ended. `program` is the file of this program.
///
/// # Errors
/// If the terminal cannot be opened, or another process holds it.
pub fn hold_terminal(folder: SessionFolder, program: &Path) -> Result<(), SessionError> {
    let program = program.to_owned();
    let options = HolderOptions {
        socket: folder.terminal(),
        command: vec![
            program.clone().into_os_string(),
            LOGIN_ARG.into(),
            folder.name().into(),
        ],
        environment: env::vars_os().collect(),
        dir: env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from),
        program: program.clone(),
        stall_timeout: HolderOptions::STALL_TIMEOUT,
    };
    thread::spawn(move || watch_keeper(&folder, &program));
    let held = hold(&options, || {});
    held.map(drop).map_err(|error| SessionError::Unwritable {
        file: "the terminal".to_owned(),
        error,
    })
}

/// Starts the command that submits pilots again whenever it was killed, for as long as the session goes on. Another
/// command at the session, which may be about to end it, comes first.
fn watch_keeper(folder: &SessionFolder, program: &Path) {
    loop {
        thread::sleep(KEEPER_CHECK);
        let is_gone = || !KeepLock::is_held(&folder.sites_dir());
        if !is_gone() || SessionAgency::find(folder).is_some() {
            continue;
        }
        let (Ok(_lock), Ok(Some(record))) = (folder.lock(), folder.record()) else {
            continue;
        };
        if record.goes_on() && is_gone() {
            // The next look tries again.
            let _ = start_keeper(folder, program, record.inside.is_some());
        }
    }
}
