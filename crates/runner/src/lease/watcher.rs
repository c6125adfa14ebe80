//! The watcher: a process beside a runner with a lease. When the lease has ended and the runner
//! does not end its tasks, because it was killed or stopped, the watcher ends them.
//!
//! The watcher is the same program in a session of its own. It reads the end of the lease and the
//! started attempts from the directory. Its runner wakes it only when the lease ends sooner than
//! before. The watcher exits after its runner, once no task runs any more or the lease was renewed:
//! then another runner works here, with a watcher of its own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tollgate_engine::BootTime;

use crate::cgroup::group::SlotCgroup;
use crate::child::spawn::BlockedSignals;
use crate::lease;
use crate::process::kill_tree;
use crate::process::mark::{AttemptMark, RunnerId};
use crate::process::procfs;
use crate::recovery;
use crate::settings::RunnerConfig;
use crate::started_files;
use crate::startup::HELD_BACK;
use crate::state_dir;

/// The argument after the directory that makes the program a watcher.
pub(crate) const WATCHER_FLAG: &str = "--watch";

/// The interval at which a watcher without a runner checks for remaining tasks, and a watcher whose
/// lease has ended checks for a renewal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The runner's handle to its watcher.
pub(crate) struct LeaseWatcher {
    process: Child,
    /// The pipe to the watcher, which closes when the runner ends for any reason.
    pipe: ChildStdin,
}

impl LeaseWatcher {
    /// Starts a watcher, and returns when it is ready.
    ///
    /// # Errors
    /// If the watcher cannot be started, or ended at once.
    pub(crate) fn start() -> io::Result<Self> {
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

    /// Makes the watcher read the lease again, which ends sooner than before. A watcher that has
    /// ended is replaced by a new one, which reads the lease anyway.
    pub(crate) fn wake(&mut self) {
        let _ = self.pipe.write_all(&[0]);
    }

    /// Returns whether the watcher is alive.
    pub(crate) fn is_running(&mut self) -> bool {
        // An error means that the runner has already reaped it, like any other orphan.
        matches!(self.process.try_wait(), Ok(None))
    }
}

/// Watches in `folder` until there is nothing to watch.
pub(crate) fn run(folder: &Path) -> io::Result<()> {
    // The watcher must outlive the causes that end its runner: a terminal, a process group, signals
    // of a batch system.
    let _ = rustix::process::setsid();
    let _held_back = BlockedSignals::block(&HELD_BACK)?;
    let settings = RunnerConfig::read(folder).map_err(io::Error::other)?;
    let watch = WatcherLoop {
        state_dir: folder.to_owned(),
        lease: File::open(state_dir::lease_path(folder))?,
        boot: procfs::boot_id()?,
        runner_id: RunnerId::of(folder)?,
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
    runner_id: RunnerId,
    grace: Duration,
    runner: Pid,
}

/// An attempt that may have processes left.
struct LeftoverAttempt {
    group: SlotCgroup,
    name: String,
    mark: AttemptMark,
}

impl WatcherLoop {
    fn watch_loop(&self) -> io::Result<()> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        let stdin = io::stdin();
        let mut is_alone = false;
        // The end of the lease at the time when the runner ended.
        let mut left_with = None;
        let mut terminated_for = None;
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
                // A working runner asks the tasks itself.
                if terminated_for != Some(end) && (is_alone || procfs::is_stopped(self.runner)) {
                    terminated_for = Some(end);
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
            // An interrupted poll is handled like any other wake-up.
            let _ = poll(&mut watched, None);
            let is_called = watched.get(1).is_some_and(|it| !it.revents().is_empty());
            // End of file: the runner has ended.
            if is_called && rustix::io::read(fd, &mut [0; 64]) == Ok(0) {
                is_alone = true;
                left_with = Some(self.lease_end());
            }
        }
    }

    fn lease_end(&self) -> BootTime {
        // Without a written lease no task may run.
        lease::read(&self.lease, &self.boot).unwrap_or_default()
    }

    /// Returns the attempts that were started since the host's boot and have not been forgotten.
    fn started_attempts(&self) -> Vec<LeftoverAttempt> {
        let files = started_files::paths(&self.state_dir);
        let traces = files.into_iter().filter_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            let header = recovery::parse_started_file(&text)?.header;
            let name = file.file_name().and_then(OsStr::to_str)?.to_owned();
            (header.boot == self.boot).then(|| LeftoverAttempt {
                group: header.group,
                mark: self.runner_id.mark(&name),
                name,
            })
        });
        traces.collect()
    }

    /// Returns the attempts with live processes.
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
                attempt = trace.name,
                "attempt is asked to end: its lease has ended, and its runner does not work"
            );
            kill_tree::terminate_sparing_runner(self.runner, &trace.group, &trace.mark);
        }
    }

    fn kill_unfinished(&self) {
        for trace in self.unfinished_attempts() {
            // The lease may have been renewed meanwhile.
            if BootTime::now() < self.lease_end() {
                return;
            }
            tracing::warn!(
                attempt = trace.name,
                "attempt is ended: its lease has ended"
            );
            kill_tree::kill_sparing_runner(self.runner, &trace.group, &trace.mark);
        }
    }
}

fn timer_at(moment: BootTime) -> Itimerspec {
    let since = moment.since_boot();
    // A timer set to zero never fires; zero is the boot itself, which is past.
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
