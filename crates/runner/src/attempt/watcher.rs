//! The watcher of a job: a second process, in a session of its own, that ends the processes of the task
//! if the job's own process is killed. Grid Engine kills the process group of a job and nothing else.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use std::os::unix::process::CommandExt;

use tollgate_model::AttemptId;

use super::files::AttemptFolder;
use crate::cgroup::group::SlotCgroup;
use crate::child::spawn::BlockedSignals;
use crate::process::kill_tree;
use crate::process::mark::RunnerId;
use crate::startup::HELD_BACK;

/// The argument after the attempt that makes the program a watcher.
pub(super) const WATCHER_FLAG: &str = "--watch";

/// A job's handle to its watcher.
pub(super) struct TaskWatcher {
    process: Child,
    /// The pipe to the watcher, which closes when this process ends for any reason.
    pipe: ChildStdin,
}

impl TaskWatcher {
    /// Starts a watcher, and returns when it is ready.
    pub(super) fn start() -> io::Result<Self> {
        let mut words = std::env::args_os();
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        command.args(words).arg(WATCHER_FLAG);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let (pipe, ready) = (process.stdin.take(), process.stdout.take());
        let (Some(pipe), Some(mut ready)) = (pipe, ready) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        ready.read_exact(&mut [0])?;
        Ok(Self { process, pipe })
    }

    /// Ends the watcher: the task is over.
    pub(super) fn dismiss(mut self) {
        let _ = self.pipe.write_all(&[0]);
        drop(self.pipe);
        let _ = self.process.wait();
    }
}

/// Waits for the end of the job's own process, and ends what is left of its task.
pub(super) fn run(folder: &AttemptFolder, attempt: AttemptId) -> io::Result<()> {
    let _ = rustix::process::setsid();
    let _held_back = BlockedSignals::block(&HELD_BACK)?;
    let mark = RunnerId::of(&folder.work(attempt))?.mark(attempt);
    let mut watches = io::stdout();
    watches.write_all(b"\n")?;
    watches.flush()?;
    // One byte dismisses the watcher; the end of the pipe means that the process was killed.
    if io::stdin().read(&mut [0]).is_ok_and(|read| read > 0) {
        return Ok(());
    }
    kill_tree::kill_adopted(&SlotCgroup::default(), &mark);
    Ok(())
}
