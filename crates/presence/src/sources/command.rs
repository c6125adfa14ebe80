//! A command of the site, which writes a line when the use of the computer changes.
//!
//! A line is `free`, or `in-use` and a cause: the key of an [`EvictionCause`]. Another cause, or none, is a person. Until
//! the first line, and while the command does not run, the computer is in use: tasks would not give way.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use tollgate_model::EvictionCause;

use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

/// Maximum length of a line, in bytes. The rest of a longer one is ignored.
const MAX_LINE_BYTES: usize = 4096;

pub(crate) struct CommandSource {
    command: String,
    running: Option<PresenceCommand>,
    /// The time at which a command that has ended is started again.
    restart_at: Duration,
    problem: Option<String>,
}

/// The command's process, in a process group of its own.
struct PresenceCommand {
    child: Child,
    lines: ChildStdout,
    /// The begin of a line whose end has not arrived.
    begun: Vec<u8>,
}

impl CommandSource {
    pub(crate) fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            running: None,
            restart_at: Duration::ZERO,
            problem: None,
        }
    }
}

impl ObservedSource for CommandSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Command
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let running = self.running.iter();
        running.map(|running| running.lines.as_fd()).collect()
    }

    fn next_look(&self) -> Option<Duration> {
        self.running.is_none().then_some(self.restart_at)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let in_use = |cause| PresenceObservation::Use(PresenceSource::Command, cause);
        let mut observed = Vec::new();
        if let Some(running) = &mut self.running {
            match running.read_causes() {
                Ok(causes) => observed.extend(causes.into_iter().map(in_use)),
                Err(reason) => {
                    tracing::warn!(
                        command = self.command,
                        reason,
                        "the command of the site ends"
                    );
                    self.problem = Some(reason);
                    self.running = None;
                    self.restart_at = now.boot + LOOK_INTERVAL;
                    observed.push(in_use(Some(EvictionCause::User)));
                }
            }
        } else if now.boot >= self.restart_at {
            observed.push(in_use(Some(EvictionCause::User)));
            match PresenceCommand::start(&self.command) {
                Ok(running) => {
                    self.running = Some(running);
                    self.problem = None;
                }
                Err(error) => {
                    self.problem = Some(format!("{}: {error}", self.command));
                    self.restart_at = now.boot + LOOK_INTERVAL;
                }
            }
        }
        observed
    }

    fn problem(&self) -> Option<String> {
        self.problem.clone()
    }
}

impl PresenceCommand {
    fn start(command: &str) -> std::io::Result<Self> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let lines = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let flags = fcntl_getfl(&lines)?;
        fcntl_setfl(&lines, flags | OFlags::NONBLOCK)?;
        Ok(Self {
            child,
            lines,
            begun: Vec::new(),
        })
    }

    /// Reads the lines that have arrived.
    ///
    /// # Errors
    /// The reason if the command has closed its output.
    fn read_causes(&mut self) -> Result<Vec<Option<EvictionCause>>, String> {
        let mut causes = Vec::new();
        let mut bytes = [0; MAX_LINE_BYTES];
        loop {
            match self.lines.read(&mut bytes) {
                Ok(0) => return Err("the command has ended".to_owned()),
                Ok(length) => causes.extend(self.take_lines(&bytes[..length])),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(causes),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn take_lines(&mut self, bytes: &[u8]) -> Vec<Option<EvictionCause>> {
        let mut causes = Vec::new();
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.begun);
                causes.extend(parse(&String::from_utf8_lossy(&line)));
            } else if self.begun.len() < MAX_LINE_BYTES {
                self.begun.push(byte);
            }
        }
        causes
    }
}

impl Drop for PresenceCommand {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // The child is not reaped yet, so that its id is still that of its group.
        let _ = pid.map(|pid| kill_process_group(pid, Signal::KILL));
        let _ = self.child.wait();
    }
}

/// Parses a line. None for a line that says nothing about the use.
fn parse(line: &str) -> Option<Option<EvictionCause>> {
    let mut words = line.split_whitespace();
    match words.next()? {
        "free" => Some(None),
        "in-use" => {
            let key = words.next().unwrap_or_default();
            let cause = EvictionCause::ALL.into_iter().find(|one| one.key() == key);
            Some(Some(cause.unwrap_or(EvictionCause::User)))
        }
        _ => {
            tracing::warn!(line, "expected `free`, or `in-use` and a cause");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_command_are_parsed() {
        assert_eq!(parse("free"), Some(None));
        assert_eq!(parse(" in-use load \r"), Some(Some(EvictionCause::Load)));
        assert_eq!(parse("in-use lecture"), Some(Some(EvictionCause::User)));
        assert_eq!(parse("in-use"), Some(Some(EvictionCause::User)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("busy"), None);
    }
}
