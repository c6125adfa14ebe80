//! One worker, as the service knows it, and one connection.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use tollgate_engine::EngineCapacity;
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, EvictionCause, HostSlowdown, Instant, NodeRange};

use crate::black_hole::FailedStarts;
use crate::departure::LeaveNotice;
use crate::protocol::{SequenceCounter, ServerMessage, WorkerFrame};
use crate::registry::WorkerVacancy;

/// The service's end of a connection. Frames reach the worker in order, or not at all.
pub trait FrameSink: Send {
    /// Sends a frame; false if the connection takes no more. Must not block.
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool;
}

/// An event on a worker's connection.
#[derive(Debug)]
pub struct ConnectionEvent {
    /// Number of the connection, unique as long as this service runs.
    pub connection: u64,
    /// The event itself.
    pub kind: ConnectionEventKind,
}

/// The kind of a connection event.
pub enum ConnectionEventKind {
    /// The connection was opened.
    Opened(Box<dyn FrameSink>),
    /// The worker sent a frame.
    Received(WorkerFrame<crate::protocol::WorkerMessage>),
    /// The connection was closed.
    Closed,
}

impl fmt::Debug for ConnectionEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(_) => f.write_str("Opened"),
            Self::Received(frame) => f.debug_tuple("Said").field(frame).finish(),
            Self::Closed => f.write_str("Closed"),
        }
    }
}

/// The service's record of a worker.
pub(crate) struct WorkerEntry {
    /// The worker's incarnation, if the gate counts on it.
    pub(crate) incarnation: Option<LiveIncarnation>,
    /// The connection that serves this incarnation.
    pub(crate) connection: Option<u64>,
    /// When the worker last confirmed this incarnation, by the pool's clock.
    pub(crate) last_contact: Duration,
    /// The instant at which the worker's host ends it, as it offered.
    pub(crate) until: Option<Instant>,
    /// Whether the gate may count on another end than the worker has.
    pub(crate) is_end_new: bool,
    /// Sentences about how the use of the worker's host is observed; None if no one works at it.
    pub(crate) desktop: Option<Vec<String>>,
    /// Why the host is in use, as the worker reported last.
    pub(crate) in_use: Option<EvictionCause>,
    /// How much longer work takes on its host, as the worker reported last on this connection; None if it did not.
    pub(crate) slowdown: Option<HostSlowdown>,
    /// Name of the worker's site, if it has one.
    pub(crate) site: Option<String>,
    /// The notice of a worker that is about to leave, until it is answered.
    pub(crate) notice: Option<LeaveNotice>,
    /// The failed starts since the last one that did not fail.
    pub(crate) failed_starts: FailedStarts,
    /// Why the worker was retired, if it was.
    pub(crate) retired: Option<String>,
    /// Whether the worker's nodes are drained because it leaves.
    pub(crate) is_leaving: bool,
    /// Whether the worker's nodes are drained in the gate, for whatever reason.
    pub(crate) is_drained: bool,
    /// The capacity that the worker offered.
    pub(crate) capacity: Option<EngineCapacity>,
    /// The connection on which the worker has offered a new incarnation.
    pub(crate) offer: Option<u64>,
    /// Whether the worker has reported that it runs nothing any more and leaves.
    pub(crate) has_left: bool,
    /// Whether its last incarnation ended in this way.
    pub(crate) departed: bool,
    /// Whether the worker has reported its running attempts since the service was started. Until
    /// then it may run attempts that the service does not remember.
    pub(crate) has_reported_running: bool,
    /// The reported running attempts, as long as the controller has not read them.
    pub(crate) reported_running: Option<BTreeSet<AttemptId>>,
}

/// An incarnation of a worker that goes on.
#[derive(Clone, Copy)]
pub(crate) struct LiveIncarnation {
    pub(crate) number: u32,
    pub(crate) nodes: NodeRange,
}

impl WorkerEntry {
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            incarnation: None,
            connection: None,
            last_contact: now,
            until: None,
            is_end_new: false,
            desktop: None,
            in_use: None,
            slowdown: None,
            site: None,
            notice: None,
            failed_starts: FailedStarts::default(),
            retired: None,
            is_leaving: false,
            is_drained: false,
            capacity: None,
            offer: None,
            has_left: false,
            departed: false,
            has_reported_running: false,
            reported_running: None,
        }
    }

    /// Returns whether another worker may take this one's number.
    pub(crate) fn vacancy(&self) -> WorkerVacancy {
        match self.incarnation {
            Some(_) => WorkerVacancy::None,
            None if self.is_drained => WorkerVacancy::Drained,
            None => WorkerVacancy::Clean,
        }
    }

    pub(crate) fn incarnation_number(&self) -> u32 {
        self.incarnation.map_or(0, |live| live.number)
    }
}

/// A worker's connection.
pub(crate) struct WorkerConnection {
    pub(crate) sink: Box<dyn FrameSink>,
    pub(crate) received: SequenceCounter,
    pub(crate) sent: SequenceCounter,
    pub(crate) stage: HandshakeStage,
}

/// The stage of a connection's handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeStage {
    /// The worker has not identified itself.
    New,
    /// The worker is identified, and the service has decided whether its incarnation goes on.
    Identified(WorkerId, bool),
    /// The worker has offered its capacity.
    Offered(WorkerId),
}

impl HandshakeStage {
    /// Returns the worker on the connection; None before it is identified.
    pub(crate) const fn worker(self) -> Option<WorkerId> {
        match self {
            Self::New => None,
            Self::Identified(worker, _) | Self::Offered(worker) => Some(worker),
        }
    }
}

impl WorkerConnection {
    pub(crate) fn send(&mut self, epoch: u32, message: ServerMessage) -> bool {
        let seq = self.sent.next_number();
        self.sink.send(WorkerFrame {
            incarnation: epoch,
            seq,
            message,
        })
    }
}

/// A worker, as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// The worker's name.
    pub name: String,
    /// Number of the current or last incarnation.
    pub incarnation: u32,
    /// Whether the worker is connected.
    pub state: WorkerState,
    /// The worker's nodes.
    pub nodes: NodeRange,
    /// The instant at which the worker's host ends it; None if it is not known.
    pub until: Option<Instant>,
    /// Sentences about how tasks give way to the people who work at the worker's host; None if no one does.
    pub desktop: Option<Vec<String>>,
    /// Why the host is in use, if it is.
    pub in_use: Option<EvictionCause>,
    /// Name of the worker's site, if it has one.
    pub site: Option<String>,
    /// Whether the worker is about to leave.
    pub is_leaving: bool,
    /// Why the service drained the worker's nodes itself, if it did.
    pub retired: Option<String>,
    /// The worker's capacity; None before its first connection since the service was started.
    pub capacity: Option<EngineCapacity>,
}

/// The state of a worker that the log records on each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSnapshot {
    /// Whether the worker is connected.
    pub state: WorkerState,
    /// Number of the current or last incarnation.
    pub incarnation: u32,
    /// The number of nodes that the worker offers, or offered.
    pub nodes: u32,
    /// Whether the worker is about to leave, or has left.
    pub is_leaving: bool,
    /// Whether the service drained the worker's nodes itself, because nothing could be started.
    pub is_retired: bool,
}

/// Whether a worker is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// The worker is connected.
    Connected,
    /// The worker is disconnected; its jobs go on within the grace period.
    Disconnected,
    /// The worker was given up.
    Lost,
}
