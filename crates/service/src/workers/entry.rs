//! One worker, as the service knows it, and one connection.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use tollgate_engine::{AttemptKey, EngineCapacity};
use tollgate_gate::WorkerId;
use tollgate_model::NodeRange;

use super::protocol::{SequenceCounter, ServerMessage, WorkerFrame};

/// The service's end of a connection. What is said reaches the worker in order, or not at all.
pub trait FrameSink: Send {
    /// Says something; false if the connection takes no more. Must not block.
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool;
}

/// Something that a connection brings.
#[derive(Debug)]
pub struct ConnectionEvent {
    /// Which connection: a number that no other has, as long as this service runs.
    pub connection: u64,
    /// What it brings.
    pub kind: ConnectionEventKind,
}

/// What a connection can bring.
pub enum ConnectionEventKind {
    /// It is there.
    Opened(Box<dyn FrameSink>),
    /// A word of the worker.
    Received(WorkerFrame<super::protocol::WorkerMessage>),
    /// It is gone.
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

/// A worker.
pub(super) struct WorkerEntry {
    /// Its life, if the gate counts on it.
    pub(super) incarnation: Option<LiveIncarnation>,
    /// The connection that this life is spoken of on.
    pub(super) connection: Option<u64>,
    /// When it was last heard that this life goes on, by the fleet's clock.
    pub(super) last_contact: Duration,
    /// What it said that it has.
    pub(super) capacity: Option<EngineCapacity>,
    /// A new life that it has offered on this connection.
    pub(super) offer: Option<u64>,
    /// Whether it has said that it runs nothing any more and goes.
    pub(super) has_left: bool,
    /// Whether it has said what it runs, since the service was started. As long as it has not, it may
    /// run what the service does not remember.
    pub(super) has_reported_running: bool,
    /// What it runs, where that was said and nobody has looked at it yet.
    pub(super) reported_running: Option<BTreeSet<AttemptKey>>,
}

/// A life of a worker that goes on.
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

/// A connection.
pub(super) struct WorkerConnection {
    pub(super) sink: Box<dyn FrameSink>,
    pub(super) received: SequenceCounter,
    pub(super) sent: SequenceCounter,
    pub(super) stage: HandshakeStage,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeStage {
    /// Nobody has said who it is.
    New,
    /// It is known who it is, and whether its life goes on.
    Identified(WorkerId, bool),
    /// It has offered what it has.
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

/// A worker, to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// What it is called.
    pub name: String,
    /// Which life this is, or was.
    pub incarnation: u32,
    /// Whether it is there.
    pub state: WorkerState,
    /// Its nodes.
    pub nodes: NodeRange,
    /// What is enforced there; none before it has come since the service was started.
    pub capacity: Option<EngineCapacity>,
}

/// What the log says of a worker when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerSnapshot {
    /// Whether it is there.
    pub(crate) state: WorkerState,
    /// Which incarnation this is, or was.
    pub(crate) incarnation: u32,
    /// How many nodes it offers, or offered.
    pub(crate) nodes: u32,
}

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// It is connected.
    Connected,
    /// It is not, and is waited for: its jobs go on.
    Disconnected,
    /// It was given up.
    Lost,
}
