//! The size limits of task outputs.
//!
//! A separate thread checks the sizes once a second. That costs a task one open file and no time,
//! whereas a pipe would cost a copy of each byte. Unlike the system's limit of file size, this
//! limit applies to the output alone and not to every file that a task writes.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, open, statx};
use rustix::io::Errno;
use tollgate_model::AttemptId;

use crate::process::handle::ProcessHandle;
use crate::supervisor::event::RunnerEvent;

/// The interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The descriptors of standard output and standard error.
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

/// The block size in the result of `stat`, independent of the file system's own.
const BLOCK_BYTES: u64 = 512;

/// A handle to the thread that checks outputs.
#[derive(Clone)]
pub(crate) struct OutputMonitor(Sender<MonitoredOutput>);

/// The output of a running attempt.
struct MonitoredOutput {
    attempt: AttemptId,
    /// A reference that is dead once the attempt has ended.
    live: Weak<ProcessHandle>,
    /// A handle through which the file cannot be read.
    file: OwnedFd,
    /// Maximum size of the file, with what it held before.
    most: u64,
}

/// The identity of a regular file: its device and inode, written by a child that must not allocate.
/// Until then, and for another kind of file, both are 0.
#[derive(Debug, Default)]
pub(crate) struct FileId {
    device: AtomicU64,
    inode: AtomicU64,
    /// The bytes that the file held when it was opened, without holes.
    held_bytes: AtomicU64,
}

impl FileId {
    pub(crate) fn set(&self, stat: &Stat) {
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return;
        }
        let allocated = (stat.st_blocks as u64).saturating_mul(BLOCK_BYTES);
        let held = allocated.min(stat.st_size as u64);
        self.held_bytes.store(held, Ordering::Release);
        self.device.store(stat.st_dev, Ordering::Release);
        self.inode.store(stat.st_ino, Ordering::Release);
    }

    /// Most bytes of a line that [`FileId::write_line`] writes: three numbers of at most 20 digits.
    pub(crate) const LINE_BYTES: usize = 3 * 21;

    /// Writes the line that [`FileId::parse`] reads into a buffer; returns what was written, nothing if no file was
    /// set. It does not allocate.
    pub(crate) fn write_line<'a>(&self, buffer: &'a mut [u8; Self::LINE_BYTES]) -> &'a [u8] {
        if !self.is_set() {
            return &[];
        }
        let [device, inode, held] = [&self.device, &self.inode, &self.held_bytes]
            .map(|number| number.load(Ordering::Acquire));
        let mut rest = &mut buffer[..];
        // Three numbers of 64 bits always fit.
        let _ = writeln!(rest, "{device} {inode} {held}");
        let left = rest.len();
        &buffer[..Self::LINE_BYTES - left]
    }

    /// Parses a line without its end. None unless it is three numbers.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(|number| number.parse().ok());
        let mut next = || Some(AtomicU64::new(numbers.next()??));
        Some(Self {
            device: next()?,
            inode: next()?,
            held_bytes: next()?,
        })
    }

    /// Returns whether a file was set. No regular file has the inode 0.
    fn is_set(&self) -> bool {
        self.inode.load(Ordering::Acquire) != 0
    }

    fn is(&self, stat: &Stat) -> bool {
        let known = (&self.device, &self.inode);
        (
            known.0.load(Ordering::Acquire),
            known.1.load(Ordering::Acquire),
        ) == (stat.st_dev, stat.st_ino)
    }
}

/// The files to which an attempt writes.
#[derive(Clone, Copy)]
pub(crate) struct WrittenFileIds<'a> {
    pub(crate) output: &'a FileId,
    /// The file of standard error; None if it is that of the output.
    pub(crate) error: Option<&'a FileId>,
}

impl OutputMonitor {
    /// Starts the thread, which reports outputs over their limit to `to`, and ends with the last
    /// handle to it.
    pub(crate) fn start(to: Sender<RunnerEvent>) -> Self {
        let (way, outputs) = mpsc::channel();
        let thread = thread::Builder::new().name("outputs".to_owned());
        if let Err(error) = thread.spawn(move || watch_loop(&outputs, &to)) {
            tracing::error!(%error, "no thread can be started to look at outputs");
        }
        Self(way)
    }

    /// Monitors the output and the errors of an attempt that has just started, or that an earlier runner started.
    /// It monitors the files that the child opened, if the program still writes to them and they are regular
    /// files. Each may have the maximum size, and earlier contents do not count.
    pub(crate) fn watch(
        &self,
        attempt: AttemptId,
        live: &Arc<ProcessHandle>,
        files: WrittenFileIds<'_>,
        most: u64,
    ) {
        self.watch_file(attempt, live, (files.output, STDOUT), most);
        if let Some(error) = files.error {
            self.watch_file(attempt, live, (error, STDERR), most);
        }
    }

    fn watch_file(
        &self,
        attempt: AttemptId,
        live: &Arc<ProcessHandle>,
        (output, descriptor): (&FileId, u32),
        most: u64,
    ) {
        if !output.is_set() {
            return;
        }
        let path = format!("/proc/{}/fd/{descriptor}", live.pid().as_raw_pid());
        let Ok(file) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            return;
        };
        if fstat(&file).is_ok_and(|stat| output.is(&stat)) {
            // Without the thread there is no limit; the failure was logged.
            let _ = self.0.send(MonitoredOutput {
                attempt,
                live: Arc::downgrade(live),
                file,
                most: most.saturating_add(output.held_bytes.load(Ordering::Acquire)),
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
                // A closed channel means that the runner is ending.
                let _ = to.send(RunnerEvent::OutputLimitReached(output.attempt));
            }
            goes_on && !is_long
        });
    }
}

/// Returns the size of a file in bytes, without holes, as this host knows it, so that a server that
/// does not answer blocks no check.
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
    fn file_length_excludes_holes() {
        let file = tempfile::tempfile().expect("a file");
        let handle = || OwnedFd::from(file.try_clone().expect("a handle"));
        assert_eq!(allocated_bytes(&handle()), Ok(0));
        file.write_at(&[1; 5_000], 0).expect("written");
        assert_eq!(allocated_bytes(&handle()), Ok(5_000));
        file.set_len(1 << 30).expect("longer");
        assert!(allocated_bytes(&handle()).expect("a length") < 1 << 20);
    }

    #[test]
    fn file_id_is_read_back_from_its_line() {
        let mut buffer = [0; FileId::LINE_BYTES];
        assert_eq!(FileId::default().write_line(&mut buffer), b"", "no file");
        let file = tempfile::tempfile().expect("a file");
        file.write_at(&[1; 5_000], 0).expect("written");
        let stat = fstat(&file).expect("it is there");
        let id = FileId::default();
        id.set(&stat);
        let line = String::from_utf8(id.write_line(&mut buffer).to_vec()).expect("text");
        let read = FileId::parse(line.trim_end_matches('\n')).expect("a line");
        assert!(read.is(&stat));
        assert_eq!(read.held_bytes.load(Ordering::Acquire), 5_000);
        let largest = FileId::parse(&vec![u64::MAX.to_string(); 3].join(" ")).expect("a line");
        assert_eq!(largest.write_line(&mut buffer).len(), FileId::LINE_BYTES);
        assert!(FileId::parse("1 2").is_none() && FileId::parse("").is_none());
    }

    #[test]
    fn file_id_distinguishes_files() {
        let [one, other] = [(); 2].map(|()| tempfile::tempfile().expect("a file"));
        let id = FileId::default();
        id.set(&fstat(&one).expect("it is there"));
        assert!(id.is(&fstat(&one).expect("it is there")));
        assert!(!id.is(&fstat(&other).expect("it is there")));
    }
}
