//! The process, its pipes, and the wait for an answer.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

/// Maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 1 << 26;
/// The longest wait for the exit status of a program that has closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// A running program, which leads a process group. The group is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct PolicyProgram {
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// The lines since the last question.
    unsent: Vec<u8>,
    /// The bytes since the last answer.
    unread: Vec<u8>,
    timeout: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// The program has ended.
    #[error("the program ended ({0}) instead of answering")]
    Ended(ExitStatus),
    /// The program can answer no more, but still runs.
    #[error("the program closed its {0}")]
    Closed(ProgramPipe),
    /// The program takes too long.
    #[error("the program did not {verb} for {secs} s", verb = .1.verb(), secs = .0.as_secs_f64())]
    Hangs(Duration, ProgramPipe),
    /// An answer without a question.
    #[error("the program wrote another line without being asked")]
    Unasked,
    /// An answer without an end.
    #[error("the program wrote {MAX_ANSWER} bytes without the end of a line")]
    Endless,
    /// The operating system failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A pipe of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramPipe {
    /// Standard input.
    Input,
    /// Standard output.
    Output,
}

impl ProgramPipe {
    const fn verb(self) -> &'static str {
        match self {
            Self::Input => "read its standard input",
            Self::Output => "answer",
        }
    }

    const fn flags(self) -> PollFlags {
        match self {
            Self::Input => PollFlags::OUT,
            Self::Output => PollFlags::IN,
        }
    }
}

impl fmt::Display for ProgramPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "standard input",
            Self::Output => "standard output",
        })
    }
}

impl PolicyProgram {
    /// Starts the program of a command, which is split at blanks. Its standard error is that of this
    /// process.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub(crate) fn start(command: &str, timeout: Duration) -> io::Result<Self> {
        let mut words = command.split_ascii_whitespace();
        let mut process = Command::new(words.next().unwrap_or_default())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let program = Self {
            process,
            input,
            output,
            unsent: Vec::new(),
            unread: Vec::new(),
            timeout,
        };
        ioctl_fionbio(&program.input, true)?;
        ioctl_fionbio(&program.output, true)?;
        Ok(program)
    }

    /// Adds a line to those that the program reads before its next answer.
    pub(crate) fn queue_event(&mut self, event: &impl Serialize) {
        serde_json::to_writer(&mut self.unsent, event).expect("an event is JSON");
        self.unsent.push(b'\n');
    }

    /// Sends all lines and returns the line with which the program answers, without its end.
    ///
    /// # Errors
    /// If the program ends, does not answer in time, or answers without being asked.
    pub(crate) fn read_answer(&mut self) -> Result<Vec<u8>, ProgramError> {
        self.expect_silence()?;
        let due = Instant::now() + self.timeout;
        self.send(due)?;
        let mut chunk = [0; 1 << 12];
        loop {
            self.wait_for(ProgramPipe::Output, due)?;
            let length = match self.output.read(&mut chunk) {
                Ok(0) => return Err(self.end_or(ProgramError::Closed(ProgramPipe::Output))),
                Ok(length) => length,
                Err(error) if is_temporary(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let end = chunk[..length].iter().position(|&byte| byte == b'\n');
            if let Some(end) = end {
                let mut answer = std::mem::take(&mut self.unread);
                answer.extend_from_slice(&chunk[..end]);
                self.unread.extend_from_slice(&chunk[end + 1..length]);
                return Ok(answer);
            }
            self.unread.extend_from_slice(&chunk[..length]);
            if self.unread.len() > MAX_ANSWER {
                return Err(ProgramError::Endless);
            }
        }
    }

    /// Checks that the program has written nothing since its last answer.
    ///
    /// # Errors
    /// If it has.
    pub(crate) fn expect_silence(&mut self) -> Result<(), ProgramError> {
        let is_silent = self.unread.is_empty() && !matches!(self.output.read(&mut [0]), Ok(1));
        is_silent.then_some(()).ok_or(ProgramError::Unasked)
    }

    fn send(&mut self, due: Instant) -> Result<(), ProgramError> {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.input.write(&self.unsent[sent..]) {
                Ok(length) => sent += length,
                Err(error) if is_temporary(&error) => self.wait_for(ProgramPipe::Input, due)?,
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    return Err(self.end_or(ProgramError::Closed(ProgramPipe::Input)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.clear();
        Ok(())
    }

    /// Waits until a pipe can be used, or its other end is closed.
    fn wait_for(&self, pipe: ProgramPipe, due: Instant) -> Result<(), ProgramError> {
        let place: BorrowedFd<'_> = match pipe {
            ProgramPipe::Input => self.input.as_fd(),
            ProgramPipe::Output => self.output.as_fd(),
        };
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(
                &mut [PollFd::from_borrowed_fd(place, pipe.flags())],
                Some(&left),
            ) {
                Ok(0) => return Err(ProgramError::Hangs(self.timeout, pipe)),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Returns the exit status as an error if the program ends soon, else this error.
    fn end_or(&mut self, error: ProgramError) -> ProgramError {
        let due = Instant::now() + EXIT_WAIT.min(self.timeout);
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return ProgramError::Ended(status),
                Ok(None) if Instant::now() < due => thread::sleep(Duration::from_millis(1)),
                Ok(None) => return error,
                Err(error) => return error.into(),
            }
        }
    }
}

/// Neither can fail in a way that matters: the program may have ended already.
impl Drop for PolicyProgram {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

fn is_temporary(error: &io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind())
}
