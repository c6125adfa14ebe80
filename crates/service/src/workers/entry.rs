//! One worker, as the service knows it, and one connection.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use tollgate_engine::{AttemptKey, EngineCapacity};
use tollgate_gate::WorkerId;
use tollgate_model::NodeRange;

use super::protocol::{SequenceCounter, ServerMessage, WorkerFrame};

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
    Received(WorkerFrame<super::protocol::WorkerMessage>),
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
pub(super) struct WorkerEntry {
    /// The worker's incarnation, if the gate counts on it.
    pub(super) incarnation: Option<LiveIncarnation>,
    /// The connection that serves this incarnation.
    pub(super) connection: Option<u64>,
    /// When the worker last confirmed this incarnation, by the pool's clock.
    pub(super) last_contact: Duration,
    /// The capacity that the worker offered.
    pub(super) capacity: Option<EngineCapacity>,
    /// The connection on which the worker has offered a new incarnation.
    pub(super) offer: Option<u64>,
    /// Whether the worker has reported that it runs nothing any more and leaves.
    pub(super) has_left: bool,
    /// Whether the worker has reported its running attempts since the service was started. Until
    /// then it may run attempts that the service does not remember.
    pub(super) has_reported_running: bool,
    /// The reported running attempts, as long as the controller has not read them.
    pub(super) reported_running: Option<BTreeSet<AttemptKey>>,
}

/// An incarnation of a worker that goes on.
#[derive(Clone, Copy)]
pub(super) struct LiveIncarnation {
    pub(super) number: u32,
    pub(super) nodes: NodeRange,
}

impl WorkerEntry {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            incarnation: None,
            connection: None,
            last_contact: now,
            capacity: None,
            offer: None,
            has_left: false,
            has_reported_running: false,
            reported_running: None,
        }
    }

    pub(super) fn incarnation_number(&self) -> u32 {
        self.incarnation.map_or(0, |life| life.number)
    }
}

/// A worker's connection.
pub(super) struct WorkerConnection {
    pub(super) sink: Box<dyn FrameSink>,
    pub(super) received: SequenceCounter,
    pub(super) sent: SequenceCounter,
    pub(super) stage: HandshakeStage,
}

/// The stage of a connection's handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeStage {
    /// The worker has not identified itself.
    New,
    /// The worker is identified, and the service has decided whether its incarnation goes on.
    Identified(WorkerId, bool),
    /// The worker has offered its capacity.
    Offered(WorkerId),
}

impl WorkerConnection {
    pub(super) fn send(&mut self, epoch: u32, word: ServerMessage) -> bool {
        let seq = self.sent.next_number();
        self.sink.send(WorkerFrame {
            incarnation: epoch,
            seq,
            word,
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
    /// The worker's capacity; None before its first connection since the service was started.
    pub capacity: Option<EngineCapacity>,
}

/// The state of a worker that the log records on each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerSnapshot {
    /// Whether the worker is connected.
    pub(crate) state: WorkerState,
    /// Number of the current or last incarnation.
    pub(crate) incarnation: u32,
    /// The number of nodes that the worker offers, or offered.
    pub(crate) nodes: u32,
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
