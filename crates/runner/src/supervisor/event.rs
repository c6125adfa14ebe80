//! The events that other threads send to the runner's main thread.

use std::os::unix::net::UnixStream;

use tollgate_engine::OutputAnswer;
use tollgate_model::{AttemptEvent, AttemptId, AttemptStart};

use crate::protocol::RunnerRequest;
use crate::supervisor::task::RunningProcess;

/// An event for the runner's main thread.
pub(crate) enum RunnerEvent {
    /// A service connected.
    Connected(UnixStream),
    /// A service sent a request. The number identifies the connection.
    Request(u64, RunnerRequest),
    /// A service disconnected.
    Disconnected(u64),
    /// The runner was asked to end: by an operator, a batch system or a host that shuts down.
    StopRequested,
    /// An attempt's program runs.
    Started {
        attempt: AttemptId,
        start: AttemptStart,
        process: RunningProcess,
    },
    /// The output of an attempt exceeds its limit.
    OutputLimitReached(AttemptId),
    /// An output was read, or could not be read.
    OutputRead(OutputAnswer),
    /// An attempt has ended, and its slot is free. An adopted attempt has no slot.
    Finished {
        slot: Option<usize>,
        attempt: AttemptId,
        event: AttemptEvent,
    },
    /// The child that a slot was given up for has ended after all: the number of the slot.
    StuckSetupEnded(usize),
}
