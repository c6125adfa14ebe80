//! The watcher: a process beside a runner with a lease, which ends what runs when the lease has ended and
//! the runner does not end it, because it was killed or stopped.
//!
//! It is the same program in a session of its own. It reads in the folder until when the lease goes and
//! what was started, and is woken by its runner only when the lease ends sooner than it did. It goes once its runner has gone and either nothing runs any
//! more, or the lease was renewed since: then another runner works here, with a watcher of its own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::group::SlotCgroup;
use super::kill_tree;
use super::lease;
use super::procfs;
use super::recovery;
use super::settings::RunnerConfig;
use super::spawn::BlockedSignals;
use super::state_dir;
use crate::BootTime;

/// The word after the folder with which the program is a watcher.
pub(super) const WATCHER_FLAG: &str = "--watch";

/// How often a watcher without a runner looks whether anything is left to watch, and one whose lease has
/// ended whether that was renewed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The runner's end of its watcher.
pub(super) struct LeaseWatcher {
    process: Child,
    /// Closed when the runner ends, however it does.
    pipe: ChildStdin,
}

impl LeaseWatcher {
    /// Starts a watcher, and returns when it watches.
    ///
    /// # Errors
    /// If it cannot be started, or has ended at once.
    pub(super) fn start() -> io::Result<Self> {
        let mut words = std::env::args_os();
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        command.args(words).arg(WATCHER_FLAG);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let (pipe, watches) = (process.stdin.take(), process.stdout.take());
        let (Some(pipe), Some(mut watches)) = (pipe, watches) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        watches.read_exact(&mut [0])?;
        Ok(Self { process, pipe })
    }

    /// Has it look at the lease again, which ends sooner than it did. One that is gone is replaced by one
    /// that looks anyway.
    pub(super) fn wake(&mut self) {
        let _ = self.pipe.write_all(&[0]);
    }

    /// Whether it is there.
    pub(super) fn is_running(&mut self) -> bool {
        // An error says that the runner has waited for it already, as for any other orphan.
        matches!(self.process.try_wait(), Ok(None))
    }
}

/// Watches in `folder` until there is nothing to watch.
pub(super) fn run(folder: &Path) -> io::Result<()> {
    // It has to outlive what ends its runner: a terminal, a process group, a batch system's signals.
    let _ = rustix::process::setsid();
    let _held_back = BlockedSignals::block(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    let settings = RunnerConfig::read(folder).map_err(io::Error::other)?;
    let watch = WatcherLoop {
        state_dir: folder.to_owned(),
        lease: File::open(state_dir::lease_path(folder))?,
        boot: procfs::boot_id()?,
        grace: settings.grace(),
        runner: rustix::process::getppid().ok_or(io::ErrorKind::NotFound)?,
    };
    let mut watches = io::stdout();
    watches.write_all(b"\n")?;
    watches.flush()?;
    watch.watch_loop()
}

struct WatcherLoop {
    state_dir: PathBuf,
    lease: File,
    boot: String,
    grace: Duration,
    runner: Pid,
}

/// An attempt of which something may be left.
struct LeftoverAttempt {
    group: SlotCgroup,
    mark: String,
}

impl WatcherLoop {
    fn watch_loop(&self) -> io::Result<()> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        let stdin = io::stdin();
        let mut is_alone = false;
        // The end of the lease when the runner went.
        let mut left_with = None;
        let mut asked_at = None;
        loop {
            let (now, end) = (BootTime::now(), self.lease_end());
            if is_alone
                && (left_with.is_some_and(|left| left != end)
                    || self.unfinished_attempts().is_empty())
            {
                return Ok(());
            }
            let next = if now < end {
                end
            } else if now < end + self.grace {
                // A runner that works asks them by itself.
                if asked_at != Some(end) && (is_alone || procfs::is_stopped(self.runner)) {
                    asked_at = Some(end);
                    self.terminate_unfinished();
                }
                end + self.grace
            } else {
                self.kill_unfinished();
                now + POLL_INTERVAL
            };
            let next = match is_alone {
                true => next.min(now + POLL_INTERVAL),
                false => next,
            };
            timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &timer_at(next))?;
            let mut watched = vec![PollFd::new(&timer, PollFlags::IN)];
            let fd = stdin.as_fd();
            if !is_alone {
                watched.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
            }
            // What interrupts it is looked into like any other wake.
            let _ = poll(&mut watched, None);
            let is_called = watched.get(1).is_some_and(|it| !it.revents().is_empty());
            // The end of what it says: the runner has gone.
            if is_called && rustix::io::read(fd, &mut [0; 64]) == Ok(0) {
                is_alone = true;
                left_with = Some(self.lease_end());
            }
        }
    }

    fn lease_end(&self) -> BootTime {
        // Where no lease was ever written, nothing may run.
        lease::read(&self.lease, &self.boot).unwrap_or_default()
    }

    /// What was started here since the host was, and has not been forgotten.
    fn started_attempts(&self) -> Vec<LeftoverAttempt> {
        let files = state_dir::started_files(&self.state_dir);
        let traces = files.into_iter().filter_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            let (header, _) = recovery::parse_started_file(&text)?;
            let mark = file.file_name().and_then(OsStr::to_str)?.to_owned();
            let group = header.group;
            (header.boot == self.boot).then_some(LeftoverAttempt { group, mark })
        });
        traces.collect()
    }

    /// The attempts of which something goes on.
    fn unfinished_attempts(&self) -> Vec<LeftoverAttempt> {
        let mut traces = self.started_attempts();
        traces.retain(|trace| {
            !kill_tree::remaining_processes(self.runner, &trace.group, &trace.mark).is_empty()
        });
        traces
    }

    fn terminate_unfinished(&self) {
        for trace in self.unfinished_attempts() {
            tracing::warn!(
                attempt = trace.mark,
                "attempt is asked to end: its lease has ended, and its runner does not work"
            );
            kill_tree::terminate_sparing_runner(self.runner, &trace.group, &trace.mark);
        }
    }

    fn kill_unfinished(&self) {
        for trace in self.unfinished_attempts() {
            // It may have been renewed meanwhile.
            if BootTime::now() < self.lease_end() {
                return;
            }
            tracing::warn!(
                attempt = trace.mark,
                "attempt is ended: its lease has ended"
            );
            kill_tree::kill_sparing_runner(self.runner, &trace.group, &trace.mark);
        }
    }
}

fn timer_at(moment: BootTime) -> Itimerspec {
    let since = moment.since_boot();
    // A timer that is set to zero never fires; the boot itself is past.
    let nanos = since.subsec_nanos().max(1);
    Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: Timespec {
            tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(nanos),
        },
    }
}
