//! Reads of the outputs of attempts, for callers on other hosts.
//!
//! A path that a user chose is opened as that user. A thread takes the user's effective user id and groups,
//! on which Linux decides for each thread by itself. It keeps root's real and saved user ids, so that the
//! user can send the thread no signal. So a task that puts a link, a pipe or another user's file in the place
//! of its output gains nothing. There is one thread for each user, because a file system that does not answer
//! is to keep no other user waiting.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, pread};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tollgate_engine::output::{MAX_OUTPUT_READ, OutputBytes, OutputFile, OutputPiece};
use tollgate_engine::{LaunchSpec, LaunchUser, OutputAnswer, OutputRead};

use crate::guard::LaunchGuard;
use crate::supervisor::event::RunnerEvent;

/// Maximum number of reads of one user that wait.
const MAX_WAITING: usize = 1_024;
/// Time after which a thread without reads ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Stack size of a thread.
const STACK_BYTES: usize = 256 << 10;

/// The readers of outputs, one a user.
pub(crate) struct OutputReaders {
    /// The launch guard, if callers are not trusted.
    pub(crate) guard: Option<LaunchGuard>,
    /// The queue of each user's thread; None for the runner's own user.
    queues: BTreeMap<Option<u32>, SyncSender<OutputJob>>,
    to: Sender<RunnerEvent>,
}

/// A read with the path of its file.
struct OutputJob {
    read: OutputRead,
    path: PathBuf,
}

/// A reason for which an output cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum OutputReadError {
    #[error("no such attempt runs on this host")]
    Unknown,
    #[error("too many reads of outputs of this user wait: its file system may not answer")]
    Busy,
    #[error("it cannot be read as its user: {0}")]
    User(String),
    #[error("it is a symbolic link")]
    Link,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it cannot be read: {0}")]
    System(#[from] Errno),
}

impl OutputReaders {
    /// Creates readers that send their answers to `to`.
    pub(crate) fn new(guard: Option<LaunchGuard>, to: Sender<RunnerEvent>) -> Self {
        Self {
            guard,
            queues: BTreeMap::new(),
            to,
        }
    }

    /// Begins to read the output of a launch whose program was started. None is for an unknown attempt.
    pub(crate) fn read(&mut self, read: OutputRead, launch: Option<&LaunchSpec>) {
        if let Err(error) = self.try_read(read, launch) {
            answer(&self.to, read.id, Err(error));
        }
    }

    fn try_read(
        &mut self,
        read: OutputRead,
        launch: Option<&LaunchSpec>,
    ) -> Result<(), OutputReadError> {
        let launch = launch.ok_or(OutputReadError::Unknown)?;
        let Some(output) = launch.file_of(read.stream) else {
            answer(&self.to, read.id, Ok(OutputPiece::default()));
            return Ok(());
        };
        let user = launch.user.as_ref().map(|user| user.uid);
        let path = launch.dir.join(output);
        let mut job = OutputJob { read, path };
        if let Some(queue) = self.queues.get(&user) {
            match queue.try_send(job) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(_)) => return Err(OutputReadError::Busy),
                // The idle thread has ended.
                Err(TrySendError::Disconnected(again)) => job = again,
            }
        }
        let (queue, jobs) = mpsc::sync_channel(MAX_WAITING);
        let (guard, launch, to) = (self.guard.clone(), launch.clone(), self.to.clone());
        thread::Builder::new()
            .name("output".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || read_as_user(guard.as_ref(), &launch, &jobs, &to))
            .map_err(|error| OutputReadError::User(error.to_string()))?;
        // The queue is empty, so there is room.
        let _ = queue.try_send(job);
        self.queues.insert(user, queue);
        Ok(())
    }
}

/// Reads some of the output of a launch as the user of this process.
pub(crate) fn read_own(read: &OutputRead, launch: Option<&LaunchSpec>) -> OutputAnswer {
    let found = launch.ok_or(OutputReadError::Unknown);
    let found = found.and_then(|launch| match launch.file_of(read.stream) {
        None => Ok(OutputPiece::default()),
        Some(output) => OutputJob {
            read: *read,
            path: launch.dir.join(output),
        }
        .run(),
    });
    OutputAnswer {
        id: read.id,
        found: found.map_err(|error| error.to_string()),
    }
}

/// Reads as the user of `launch` until there is nothing to read for a while.
fn read_as_user(
    guard: Option<&LaunchGuard>,
    launch: &LaunchSpec,
    jobs: &Receiver<OutputJob>,
    to: &Sender<RunnerEvent>,
) {
    let is_user = take_user(guard, launch);
    while let Ok(job) = jobs.recv_timeout(IDLE_TIMEOUT) {
        let found = is_user.clone().and_then(|()| job.run());
        answer(to, job.read.id, found);
    }
}

/// Gives this thread the user that a task of the launch runs as.
fn take_user(guard: Option<&LaunchGuard>, launch: &LaunchSpec) -> Result<(), OutputReadError> {
    let user = match guard {
        Some(guard) => Some(
            guard
                .resolve_user(launch)
                .map_err(|error| OutputReadError::User(error.to_string()))?,
        ),
        None => launch.user.clone(),
    };
    user.map_or(Ok(()), |user| {
        take_credentials(&user).map_err(|error| OutputReadError::User(error.to_string()))
    })
}

/// Sets the groups, then the user: a thread that is no longer root cannot change its groups.
fn take_credentials(user: &LaunchUser) -> Result<(), Errno> {
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    set_thread_groups(&groups)?;
    set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
    set_thread_res_uid(None, Uid::from_raw(user.uid), None)
}

impl OutputJob {
    fn run(&self) -> Result<OutputPiece, OutputReadError> {
        // The open does not wait for a writer if the file is a named pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open(&self.path, flags | OFlags::CLOEXEC, Mode::empty());
        let file = opened.map_err(|error| match error {
            Errno::LOOP => OutputReadError::Link,
            other => OutputReadError::System(other),
        })?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(OutputReadError::NotRegular);
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let start = self.read.from.resolve(size);
        let most = u64::from(self.read.max.min(MAX_OUTPUT_READ));
        let bytes = read_at(&file, start, most.min(size - start))?;
        let micros = i64::try_from(stat.st_mtime_nsec / 1_000).unwrap_or(0);
        Ok(OutputPiece {
            start,
            bytes: OutputBytes(bytes),
            file: OutputFile {
                size,
                inode: stat.st_ino,
                modified_us: stat
                    .st_mtime
                    .saturating_mul(1_000_000)
                    .saturating_add(micros),
            },
        })
    }
}

/// Reads `length` bytes, or fewer if the file has become shorter.
fn read_at(file: &OwnedFd, start: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        match pread(file, rest, start + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn answer(to: &Sender<RunnerEvent>, id: u64, found: Result<OutputPiece, OutputReadError>) {
    let found = found.map_err(|error| error.to_string());
    // A closed channel means that the runner is ending.
    let _ = to.send(RunnerEvent::OutputRead(OutputAnswer { id, found }));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use tollgate_engine::output::{AttemptStream, OutputPosition};
    use tollgate_model::{AttemptId, NodeId};

    use super::*;

    const ATTEMPT: AttemptId = AttemptId {
        job: 1,
        task: 0,
        attempt: 1,
    };

    /// Reads a file as a user, or as the user of the test.
    fn read(path: &Path, from: OutputPosition, user: Option<u32>) -> Result<OutputPiece, String> {
        let mut launch = LaunchSpec::new(ATTEMPT, vec![NodeId(0)], ["true"], "/");
        launch.output = Some(path.to_owned());
        launch.user = user.map(|uid| LaunchUser {
            uid,
            gid: uid,
            groups: vec![uid],
        });
        let (to, answers) = mpsc::channel();
        let max = MAX_OUTPUT_READ;
        let read = OutputRead {
            id: 7,
            attempt: ATTEMPT,
            stream: AttemptStream::Output,
            from,
            max,
        };
        OutputReaders::new(None, to).read(read, Some(&launch));
        let Ok(RunnerEvent::OutputRead(OutputAnswer { id: 7, found })) = answers.recv() else {
            panic!("no answer");
        };
        found
    }

    #[test]
    fn output_is_read_from_any_position() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "0123456789").unwrap();
        for (from, start, text) in [
            (OutputPosition::Start(0), 0, "0123456789"),
            (OutputPosition::Start(8), 8, "89"),
            (OutputPosition::End(3), 7, "789"),
            (OutputPosition::Start(99), 10, ""),
        ] {
            let piece = read(&path, from, None).unwrap();
            assert_eq!((piece.start, piece.file.size), (start, 10));
            assert_eq!(piece.bytes.0, text.as_bytes());
        }
        fs::write(&path, vec![b'x'; 200_000]).unwrap();
        let piece = read(&path, OutputPosition::End(100_000), None).unwrap();
        assert_eq!(piece.bytes.0.len(), MAX_OUTPUT_READ as usize);
        assert_eq!((piece.start, piece.file.size), (100_000, 200_000));
    }

    #[test]
    fn errors_are_read_from_their_own_file_if_they_have_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("err"), "oops").unwrap();
        let mut launch = LaunchSpec::new(ATTEMPT, vec![NodeId(0)], ["true"], dir.path());
        let read = OutputRead {
            id: 7,
            attempt: ATTEMPT,
            stream: AttemptStream::Error,
            from: OutputPosition::Start(0),
            max: MAX_OUTPUT_READ,
        };
        assert_eq!(read_own(&read, Some(&launch)).found.unwrap().file.size, 0);
        launch.error = Some("err".into());
        let piece = read_own(&read, Some(&launch)).found.unwrap();
        assert_eq!(piece.bytes.0, b"oops");
    }

    #[test]
    fn link_pipe_and_directory_are_no_output() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, pipe) = (
            dir.path().join("file"),
            dir.path().join("link"),
            dir.path().join("pipe"),
        );
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let from = OutputPosition::Start(0);
        assert_eq!(read(&link, from, None), Err("it is a symbolic link".into()));
        for path in [&pipe, dir.path()] {
            let found = read(path, from, None);
            assert_eq!(found, Err("it is not a regular file".into()));
        }
        assert!(read(&dir.path().join("missing"), from, None).is_err());
    }

    #[test]
    fn root_reads_nothing_that_the_user_cannot_read() {
        if !tollgate_needs::root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let from = OutputPosition::Start(0);
        let found = read(&path, from, Some(12_345));
        assert!(found.unwrap_err().contains("Permission denied"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::chown(&path, None, Some(12_345)).unwrap();
        let found = read(&path, from, Some(12_345));
        assert_eq!(found.unwrap().bytes.0, b"secret", "as its group");
        assert_eq!(read(&path, from, None).unwrap().bytes.0, b"secret");
    }
}
