//! What the runner's main thread is told by the others.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::group::SlotCgroup;
use super::meter::CgroupUsageBaseline;
use super::process_handle::ProcessHandle;
use crate::protocol::RunnerRequest;
use crate::{AttemptEvent, AttemptKey, AttemptStart};

/// Something that happened.
pub(super) enum RunnerEvent {
    /// A service has connected.
    Connected(UnixStream),
    /// It asks for something. The number tells connections apart.
    Request(u64, RunnerRequest),
    /// It is gone.
    Disconnected(u64),
    /// The runner was asked to end: by an operator, a batch system, a host that goes down.
    StopRequested,
    /// An attempt's program runs.
    Started {
        attempt: AttemptKey,
        start: AttemptStart,
        live: Arc<ProcessHandle>,
        group: SlotCgroup,
        meter: CgroupUsageBaseline,
    },
    /// The output of an attempt has become longer than it may.
    OutputLimitReached(AttemptKey),
    /// An attempt is over, and its slot is free; one that was adopted has none.
    Finished {
        slot: Option<usize>,
        attempt: AttemptKey,
        event: AttemptEvent,
    },
}
