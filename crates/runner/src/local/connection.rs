//! One connection to a runner, with a thread that reads it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tollgate_engine::EngineError;

use super::ReportMailbox;
use crate::guard::LaunchGuard;
use crate::protocol::{self, RunnerMessage, RunnerRequest, RunnerRequestKind, RunnerResponse};

/// The time-out for a runner's hello, which the runner sends when it accepts.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection on which the runner's hello has arrived.
pub(super) struct RunnerConnection {
    stream: UnixStream,
    responses: Receiver<(u64, RunnerResponse)>,
    open: Arc<AtomicBool>,
    runner_pid: u32,
    reads_outputs: bool,
    keeps_order: bool,
    has_streams_and_signals: bool,
    suspends: bool,
    measures_load: bool,
}

/// The first message of a runner.
struct RunnerHello {
    version: u32,
    pid: u32,
    reads_outputs: bool,
    keeps_order: bool,
    has_streams_and_signals: bool,
    suspends: bool,
    measures_load: bool,
}

impl RunnerConnection {
    /// Opens a connection and reads from it. None if the connection ends before the runner's hello.
    pub(super) fn handshake(
        stream: UnixStream,
        mailbox: &Arc<ReportMailbox>,
    ) -> Result<Option<Self>, EngineError> {
        let ready = stream
            .set_read_timeout(Some(HELLO_TIMEOUT))
            .and_then(|()| Ok(BufReader::new(stream.try_clone()?)));
        let Ok(mut lines) = ready else {
            return Ok(None);
        };
        let hello = read_hello(&mut lines);
        match hello {
            Some(RunnerHello {
                version: protocol::VERSION,
                ..
            }) => {}
            Some(RunnerHello {
                version: theirs, ..
            }) => {
                let ours = protocol::VERSION;
                return Err(EngineError::OtherVersion { theirs, ours });
            }
            None => return Ok(None),
        }
        if stream.set_read_timeout(None).is_err() {
            return Ok(None);
        }
        let open = Arc::new(AtomicBool::new(true));
        let answers = spawn_reader(lines, Arc::clone(mailbox), Arc::clone(&open));
        Ok(Some(Self {
            stream,
            responses: answers,
            open,
            runner_pid: hello.as_ref().map_or(0, |hello| hello.pid),
            reads_outputs: hello.as_ref().is_some_and(|hello| hello.reads_outputs),
            keeps_order: hello.as_ref().is_some_and(|hello| hello.keeps_order),
            has_streams_and_signals: hello
                .as_ref()
                .is_some_and(|hello| hello.has_streams_and_signals),
            suspends: hello.as_ref().is_some_and(|hello| hello.suspends),
            measures_load: hello.is_some_and(|hello| hello.measures_load),
        }))
    }

    /// Returns whether the connection is still open, as far as known.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Returns the process id of the runner.
    pub(super) const fn runner_pid(&self) -> u32 {
        self.runner_pid
    }

    /// Returns whether the runner reads outputs.
    pub(super) const fn reads_outputs(&self) -> bool {
        self.reads_outputs
    }

    /// Returns whether attempts can follow others.
    pub(super) const fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    /// Returns whether attempts can have files of their own for errors and input, and get signals.
    pub(super) const fn has_streams_and_signals(&self) -> bool {
        self.has_streams_and_signals
    }

    /// Returns whether attempts can be suspended.
    pub(super) const fn suspends(&self) -> bool {
        self.suspends
    }

    /// Returns whether the runner measures the load of the host.
    pub(super) const fn measures_load(&self) -> bool {
        self.measures_load
    }

    /// Sends a request and waits for the answer.
    pub(super) fn call(
        &mut self,
        id: u64,
        request: RunnerRequestKind,
        is_recorded: bool,
        timeout: Duration,
    ) -> Result<RunnerResponse, EngineError> {
        let call = request.name();
        let timed_out = EngineError::TimedOut {
            call,
            after: timeout,
        };
        let line = protocol::encode_line(&RunnerRequest {
            id,
            kind: request,
            is_recorded,
        });
        let sent = self.stream.set_write_timeout(Some(timeout));
        match sent.and_then(|()| self.stream.write_all(&line)) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Err(timed_out),
            Err(_) => return Err(super::not_connected()),
            Ok(()) => {}
        }
        match self.responses.recv_timeout(timeout) {
            Ok((answered, answer)) if answered == id => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(timed_out),
            // A call that timed out closes the connection, so an answer never belongs to another
            // call.
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(super::not_connected()),
        }
    }
}

impl Drop for RunnerConnection {
    /// Ends the reading thread.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn read_hello(lines: &mut BufReader<UnixStream>) -> Option<RunnerHello> {
    let mut line = Vec::new();
    lines.take(1 << 16).read_until(b'\n', &mut line).ok()?;
    match serde_json::from_slice(&line).ok()? {
        RunnerMessage::Hello {
            version,
            pid,
            reads_outputs,
            keeps_order,
            has_streams_and_signals,
            suspends,
            measures_load,
            ..
        } => Some(RunnerHello {
            version,
            pid,
            reads_outputs,
            keeps_order,
            has_streams_and_signals,
            suspends,
            measures_load,
        }),
        RunnerMessage::Answer { .. } | RunnerMessage::Report(_) | RunnerMessage::Output(_) => None,
    }
}

/// Reads the runner's launch guard from a new connection. None if the connection ends before the
/// runner's hello.
pub(crate) fn read_guard(stream: &UnixStream) -> Option<Option<LaunchGuard>> {
    stream.set_read_timeout(Some(HELLO_TIMEOUT)).ok()?;
    let mut line = Vec::new();
    let mut lines = BufReader::new(stream).take(1 << 16);
    lines.read_until(b'\n', &mut line).ok()?;
    match serde_json::from_slice(&line).ok()? {
        RunnerMessage::Hello { guard, .. } => Some(guard),
        RunnerMessage::Answer { .. } | RunnerMessage::Report(_) | RunnerMessage::Output(_) => None,
    }
}

/// Dispatches the runner's messages until the connection ends.
fn spawn_reader(
    mut lines: BufReader<UnixStream>,
    mailbox: Arc<ReportMailbox>,
    open: Arc<AtomicBool>,
) -> Receiver<(u64, RunnerResponse)> {
    let (to, answers) = mpsc::channel();
    thread::spawn(move || {
        let (mut line, mut has_reports) = (Vec::new(), false);
        while lines
            .read_until(b'\n', &mut line)
            .is_ok_and(|length| length > 0)
        {
            let Ok(word) = serde_json::from_slice(&line) else {
                break;
            };
            line.clear();
            match word {
                RunnerMessage::Hello { .. } => {}
                RunnerMessage::Answer { id, answer } => {
                    // The caller may have given up.
                    let _ = to.send((id, answer));
                }
                RunnerMessage::Report(report) => {
                    mailbox.lock().push_back(report);
                    has_reports = true;
                }
                RunnerMessage::Output(answer) => {
                    mailbox.outputs().push(answer);
                    has_reports = true;
                }
            }
            // Reports that came together are handled together.
            if has_reports && !lines.buffer().contains(&b'\n') {
                mailbox.notify();
                has_reports = false;
            }
        }
        open.store(false, Ordering::Release);
        mailbox.notify();
    });
    answers
}
