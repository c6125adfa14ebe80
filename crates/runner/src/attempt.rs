//! One attempt inside a job of a batch system: the program of the job is this one, which runs the
//! attempt's program and records its end.
//!
//! No engine can be trusted with the exit code of a job, nor with running a job only once: engines
//! repeat, requeue and lose jobs. So the order of steps is the runner's own:
//!
//! 1. The launch is on disk before the job is submitted ([`files::AttemptFolder::offer`]).
//! 2. The job creates the file `started/<attempt>` with O_EXCL. If the file exists, another copy of the
//!    job has started the attempt, or the service has cancelled it, and nothing is run.
//! 3. The job reads the launch once more: the service removes it first when it forgets an attempt.
//! 4. The end is in `ended/<attempt>`, written under another name first, before the job ends.
//!
//! The job ends with exit code 0, whatever happens: engines give meanings of their own to other codes. A
//! second process, the *watcher*, ends the processes of the task if this one is killed.
//!
//! | module | contents |
//! |---|---|
//! | [`files`] | [`files::AttemptFolder`]: the files of attempts, shared by the service and all nodes |
//! | `supervision` | the program run to its end, with its time limit and the signals of the engine |
//! | `watcher` | the process that ends the task of a job that was killed |

pub mod files;
mod supervision;
mod watcher;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tollgate_engine::{LaunchSpec, OutputAnswer, OutputRead};
use tollgate_model::{AttemptEvent, AttemptId};

use self::files::AttemptFolder;
use crate::child::failure::failed_step;
use crate::child::setup::SpawnPhase;
use crate::outputs;
use crate::slot::not_started_event;

/// The hidden argument with which the program of this workspace runs one attempt.
pub const ATTEMPT_ARG: &str = "__attempt";
/// The pause before the end is written again after a failure.
const RECORD_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of tries to write an end down: the disk may be full, or a server away.
const MAX_RECORD_TRIES: u32 = 600;

/// Runs one attempt: `args` are the directory of [`AttemptFolder`] and the attempt's id. Returns 2 on
/// wrong usage, else 0.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let key = args.get(1).and_then(|key| files::parse_key(key.to_str()?));
    let (Some(folder), Some(attempt)) = (args.first(), key) else {
        eprintln!("expected a directory and the id of an attempt");
        return ExitCode::from(2);
    };
    let folder = AttemptFolder::at(Path::new(folder));
    let done = match args.get(2) {
        Some(flag) if flag == watcher::WATCHER_FLAG => watcher::run(&folder, attempt),
        Some(_) | None => run(&folder, attempt),
    };
    if let Err(error) = done {
        eprintln!("{attempt}: {error}");
    }
    ExitCode::SUCCESS
}

/// Reads some of the output of an attempt whose program runs as the user of this process. `launch` is
/// None for an unknown attempt.
pub fn read_output(read: &OutputRead, launch: Option<&LaunchSpec>) -> OutputAnswer {
    outputs::read_own(read, launch)
}

fn run(folder: &AttemptFolder, attempt: AttemptId) -> io::Result<()> {
    let is_ours = folder.read_offer(attempt)?.is_some() && folder.claim(attempt)?;
    // A late copy of the job may have found the launch just before the service forgot the attempt.
    let Some(offer) = folder.read_offer(attempt)?.filter(|_| is_ours) else {
        return Ok(());
    };
    let event = supervision::run(folder, &offer).unwrap_or_else(|error| {
        not_started_event(failed_step(SpawnPhase::Begin, error.to_string()))
    });
    record(folder, attempt, &event)?;
    folder.remove_work(attempt);
    Ok(())
}

fn record(folder: &AttemptFolder, attempt: AttemptId, event: &AttemptEvent) -> io::Result<()> {
    for _ in 1..MAX_RECORD_TRIES {
        if folder.end(attempt, event).is_ok() {
            return Ok(());
        }
        thread::sleep(RECORD_DELAY);
    }
    folder.end(attempt, event)
}
