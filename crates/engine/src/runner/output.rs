//! How long the outputs of tasks become.
//!
//! They are looked at once a second, by a thread of its own. That costs a task one open file and no
//! time, where a pipe would cost a copy of each byte; and unlike the system's limit of a file's
//! size, it holds for the output alone and not for every file that a task writes.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, open, statx};
use rustix::io::Errno;

use super::event::RunnerEvent;
use super::process_handle::ProcessHandle;
use crate::AttemptKey;

/// How often outputs are looked at.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What `stat` counts blocks in, whatever those of the file system are.
const BLOCK_BYTES: u64 = 512;

/// The way to the thread that looks at outputs.
#[derive(Clone)]
pub(super) struct OutputMonitor(Sender<MonitoredOutput>);

/// The output of an attempt that runs.
struct MonitoredOutput {
    attempt: AttemptKey,
    /// Gone once the attempt is over.
    live: Weak<ProcessHandle>,
    /// A handle by which nothing can be read.
    file: OwnedFd,
    most: u64,
}

/// A file, by its device and its number there; written by a child that must not allocate.
#[derive(Debug, Default)]
pub(super) struct FileId {
    device: AtomicU64,
    inode: AtomicU64,
}

impl FileId {
    pub(super) fn set(&self, stat: &Stat) {
        self.device.store(stat.st_dev, Ordering::Release);
        self.inode.store(stat.st_ino, Ordering::Release);
    }

    fn is(&self, stat: &Stat) -> bool {
        let known = (&self.device, &self.inode);
        (
            known.0.load(Ordering::Acquire),
            known.1.load(Ordering::Acquire),
        ) == (stat.st_dev, stat.st_ino)
    }
}

impl OutputMonitor {
    /// Starts the thread, which says by `to` whose output is too long, and ends with the last way to it.
    pub(super) fn start(to: Sender<RunnerEvent>) -> Self {
        let (way, outputs) = mpsc::channel();
        let thread = thread::Builder::new().name("outputs".to_owned());
        if let Err(error) = thread.spawn(move || watch_loop(&outputs, &to)) {
            tracing::error!(%error, "no thread can be started to look at outputs");
        }
        Self(way)
    }

    /// Looks after the output of an attempt that has just begun: the file that the child has opened,
    /// if the program still writes to it and it is an ordinary one.
    pub(super) fn watch(
        &self,
        attempt: AttemptKey,
        live: &Arc<ProcessHandle>,
        output: &FileId,
        most: u64,
    ) {
        let path = format!("/proc/{}/fd/1", live.pid().as_raw_pid());
        let Ok(file) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            return;
        };
        let is_output = fstat(&file).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && output.is(&stat)
        });
        if is_output {
            // Without the thread there is no limit, and that was said.
            let _ = self.0.send(MonitoredOutput {
                attempt,
                live: Arc::downgrade(live),
                file,
                most,
            });
        }
    }
}

fn watch_loop(new: &Receiver<MonitoredOutput>, to: &Sender<RunnerEvent>) {
    let mut outputs: Vec<MonitoredOutput> = Vec::new();
    let mut next = Instant::now();
    loop {
        let wait = match outputs.is_empty() {
            true => Duration::from_secs(3600),
            false => next.saturating_duration_since(Instant::now()),
        };
        match new.recv_timeout(wait) {
            Ok(output) => {
                if outputs.is_empty() {
                    next = Instant::now() + CHECK_INTERVAL;
                }
                outputs.push(output);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        next = Instant::now() + CHECK_INTERVAL;
        outputs.retain(|output| {
            let goes_on = output.live.strong_count() > 0;
            let is_long =
                goes_on && allocated_bytes(&output.file).is_ok_and(|bytes| bytes > output.most);
            if is_long {
                // Without anybody to tell, the runner is on its way out.
                let _ = to.send(RunnerEvent::OutputLimitReached(output.attempt));
            }
            goes_on && !is_long
        });
    }
}

/// The bytes of a file, holes left out, as this host knows them: a server that does not answer holds
/// nobody up.
fn allocated_bytes(file: &OwnedFd) -> Result<u64, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = statx(file, c"", flags, StatxFlags::SIZE | StatxFlags::BLOCKS)?;
    Ok(stat
        .stx_size
        .min(stat.stx_blocks.saturating_mul(BLOCK_BYTES)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn length_of_a_file_is_without_its_holes() {
        let file = tempfile::tempfile().expect("a file");
        let handle = || OwnedFd::from(file.try_clone().expect("a handle"));
        assert_eq!(allocated_bytes(&handle()), Ok(0));
        file.write_at(&[1; 5_000], 0).expect("written");
        assert_eq!(allocated_bytes(&handle()), Ok(5_000));
        file.set_len(1 << 30).expect("longer");
        assert!(allocated_bytes(&handle()).expect("a length") < 1 << 20);
    }

    #[test]
    fn file_is_told_from_another() {
        let [one, other] = [(); 2].map(|()| tempfile::tempfile().expect("a file"));
        let id = FileId::default();
        id.set(&fstat(&one).expect("it is there"));
        assert!(id.is(&fstat(&one).expect("it is there")));
        assert!(!id.is(&fstat(&other).expect("it is there")));
    }
}
